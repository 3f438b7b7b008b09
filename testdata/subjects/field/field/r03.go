package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func init() { subjects["r03"] = r03 }

// r03 is a daemon with a pid file. Bad makes the file and fills it in afterwards; one
// that holds no number is taken for held ("bad held") or for left behind ("bad free").
// Good: the kernel holds the lock, and what the file says is only for people.
func r03(how string, args []string) int {
	claim := r03Flock
	if how == "bad" {
		claim = func() (func() error, error) { return r03Create(args[0] == "free") }
	}
	release, err := claim()
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(witness(), release()); err != nil {
		return fail(err)
	}
	return 0
}

func r03Create(emptyIsFree bool) (func() error, error) {
	f, err := os.OpenFile("pid.lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		if err := r03Stale(emptyIsFree); err != nil {
			return nil, err
		}
		f, err = os.OpenFile("pid.lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := fmt.Fprint(f, os.Getpid()); err != nil {
		return nil, err
	}
	return func() error { return os.Remove("pid.lock") }, nil
}

// r03Stale removes a file that it judges to be left behind.
func r03Stale(emptyIsFree bool) error {
	b, err := os.ReadFile("pid.lock")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil && !emptyIsFree {
		return errors.New("already running")
	}
	if err == nil {
		fmt.Println("the holder is", pid)
		if syscall.Kill(pid, 0) == nil {
			return fmt.Errorf("already running as %d", pid)
		}
	}
	return os.Remove("pid.lock")
}

func r03Flock() (func() error, error) {
	f, err := os.OpenFile("pid.lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("already running: flock pid.lock: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0); err != nil {
		return nil, err
	}
	return f.Close, nil
}
