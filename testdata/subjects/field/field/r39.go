package main

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

func init() { subjects["r39"] = r39 }

// r39 reads or writes a store under a lock; where it may not make the lock, reading
// does without: r39 bad|good read|write [any]. The bad one knows one class of
// errors; with any it takes every error for that class.
func r39(how string, args []string) int {
	needless := func(err error) bool { return readOnly(err) && args[0] == "read" }
	if how == "bad" {
		needless = func(err error) bool { return errors.Is(err, fs.ErrPermission) || slices.Contains(args, "any") }
	}
	lock, err := os.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil {
		defer lock.Close()
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil && !needless(err) {
		return fail(err)
	}
	if args[0] == "write" {
		err = os.WriteFile("store", []byte("new\n"), 0o644)
	} else {
		_, err = os.ReadFile("store")
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// readOnly holds for the errors that say that nobody can change what is here.
func readOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}
