package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

func init() { subjects["r06"] = r06 }

// r06 is a folder as a lock. Bad: one that nobody has touched for ten seconds is removed,
// by its name, and made anew. Good: the folder only names the lock, which the kernel holds.
func r06(how string, _ []string) int {
	lock := r06Flock
	if how == "bad" {
		lock = r06Mkdir
	}
	release, err := lock()
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(witness(), release()); err != nil {
		return fail(err)
	}
	return 0
}

func r06Mkdir() (func() error, error) {
	err := os.Mkdir("x.lock", 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := os.Stat("x.lock")
		if statErr != nil || time.Since(info.ModTime()) < 10*time.Second {
			return nil, errors.New("x.lock is held")
		}
		if err := os.Remove("x.lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		err = os.Mkdir("x.lock", 0o755)
	}
	return func() error { return os.Remove("x.lock") }, err
}

func r06Flock() (func() error, error) {
	if err := os.Mkdir("x.lock", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err := os.Open("x.lock")
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil, errors.Join(errors.New("x.lock is held"), f.Close())
	}
	return f.Close, nil
}
