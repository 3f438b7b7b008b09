package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func init() { subjects["r05"] = r05 }

// r05 is a folder as a lock, with the owner's name in it. Bad makes the folder and puts
// the name in afterwards; one without a name is never touched ("bad forever"), or taken
// over when its grace is over ("bad grace"). Good: a folder appears with its name in it.
func r05(how string, args []string) int {
	take := r05Rename
	if how == "bad" {
		take = r05Mkdir
	}
	err := take()
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		if err = r05Guarded(func() error { return r05Clear(how == "bad" && args[0] == "grace") }); err == nil {
			err = take()
		}
	}
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(witness(), r05Remove()); err != nil {
		return fail(err)
	}
	return 0
}

func r05Mkdir() error {
	if err := os.Mkdir("lock", 0o755); err != nil {
		return err
	}
	return os.WriteFile("lock/owner", fmt.Append(nil, os.Getpid()), 0o644)
}

// r05Rename fails where a lock is, since that is never empty.
func r05Rename() error {
	mine := fmt.Sprint("lock.", os.Getpid())
	err := os.Mkdir(mine, 0o755)
	if err == nil {
		err = os.WriteFile(mine+"/owner", fmt.Append(nil, os.Getpid()), 0o644)
	}
	if err == nil {
		err = os.Rename(mine, "lock")
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(mine))
	}
	return r05Sweep()
}

// r05Sweep removes what those left who died before or after they had the lock.
func r05Sweep() error {
	left, err := filepath.Glob("lock.[0-9]*")
	for _, name := range left {
		if pid, _ := strconv.Atoi(strings.TrimPrefix(name, "lock.")); gone(pid) {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	return err
}

// r05Guarded lets one at a time look at a lock and clear it.
func r05Guarded(clear func() error) error {
	guard, err := os.OpenFile("guard", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := syscall.Flock(int(guard.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return clear()
}

func r05Clear(graceIsOver bool) error {
	b, err := os.ReadFile("lock/owner")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat("lock"); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	pid, numberErr := strconv.Atoi(string(b))
	if errors.Join(err, numberErr) != nil && graceIsOver || numberErr == nil && gone(pid) {
		return r05Remove()
	}
	return fmt.Errorf("lock is held by %q", b)
}

// r05Remove takes the lock away in one step.
func r05Remove() error {
	aside := fmt.Sprint("lock.", os.Getpid())
	return errors.Join(os.Rename("lock", aside), os.RemoveAll(aside))
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
