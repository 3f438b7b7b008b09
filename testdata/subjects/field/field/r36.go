package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func init() { subjects["r36"] = r36 }

// r36 writes the file state beside the nearest mark at or above the working directory.
func r36(how string, _ []string) int {
	find := findPhysical
	if how == "bad" {
		find = findMixed
	}
	root, err := find()
	if err != nil {
		return fail(err)
	}
	f, err := os.OpenFile(filepath.Join(root, "state"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString("seen\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fail(err)
	}
	return 0
}

const mark = ".rc-root"

// findMixed looks where the kernel's ".." leads, and joins on what $PWD says.
func findMixed() (string, error) {
	logical, err := os.Getwd() // $PWD, where that is the same directory
	if err != nil {
		return "", err
	}
	up := ""
	for range 100 {
		if _, err := os.Stat(filepath.Join(".", up) + "/" + mark); err == nil {
			return filepath.Join(logical, up), nil
		}
		up += "../"
	}
	return "", fs.ErrNotExist
}

// findPhysical asks the kernel where it is, and stays on that path.
func findPhysical() (string, error) {
	dir, err := syscall.Getwd() // not os.Getwd, which believes $PWD
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
			return dir, nil
		}
		if dir == "/" {
			return "", fs.ErrNotExist
		}
	}
}
