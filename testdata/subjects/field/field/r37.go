package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

func init() { subjects["r37"] = r37 }

// r37 replaces a file by way of a temporary one: r37 bad|good FILE MODE. With a
// third argument the bad one leaves the temporary file's own mode.
func r37(how string, args []string) int {
	mode, err := strconv.ParseUint(args[1], 8, 9)
	if err != nil {
		return fail(err)
	}
	perm := fs.FileMode(mode)
	create := temporary
	if how == "bad" {
		create = chmodded
	}
	if len(args) > 2 {
		perm = 0
	}
	f, err := create(args[0], perm)
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString("new\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), args[0])
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return 0
}

// chmodded gives the mode asked for, and so neither the mask nor the old file's has a say.
func chmodded(name string, perm fs.FileMode) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp")
	if err == nil && perm != 0 {
		err = f.Chmod(perm)
	}
	return f, err
}

// temporary lets the kernel apply the mask to a new file, and keeps the mode of an old one.
func temporary(name string, perm fs.FileMode) (*os.File, error) {
	old, err := os.Lstat(name)
	exists := err == nil && old.Mode().IsRegular()
	if exists {
		perm = old.Mode().Perm()
	}
	tmp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".tmp%d", os.Getpid()))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err == nil && exists {
		err = f.Chmod(perm)
	}
	return f, err
}
