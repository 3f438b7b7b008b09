package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func init() { subjects["r12"] = r12 }

// r12 LOCKS REPO adds one to the number of runs in a repository. Bad: it locks a
// name that is made of how the repository was spelled, in the folder LOCKS or, where
// that is "here", in the working directory. Good: it locks a file of the repository itself.
func r12(how string, args []string) int {
	root, err := r12Root(args[1])
	if err != nil {
		return fail(err)
	}
	lock := filepath.Join(root, ".lock")
	if how == "bad" {
		h := fnv.New32()
		h.Write([]byte(args[1]))
		lock = filepath.Join(strings.TrimSuffix(args[0], "here"), fmt.Sprintf(".%x.lock", h.Sum32()))
	}
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fail(err)
	}
	if err := r12Count(filepath.Join(root, "runs")); err != nil {
		return fail(err)
	}
	return 0
}

// r12Root is the nearest folder with a marker, from where all links are followed;
// a repository that is not there yet is made first, so that it can be looked at.
func r12Root(repo string) (string, error) {
	if err := os.MkdirAll(repo, 0o700); err != nil {
		return "", err
	}
	dir, err := filepath.EvalSymlinks(repo)
	for at := dir; err == nil && at != "/"; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".repo")); err == nil {
			return at, nil
		}
	}
	return dir, err
}

func r12Count(name string) error {
	var n int
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fmt.Sscan(string(text), &n)
	return os.WriteFile(name, fmt.Appendln(nil, n+1), 0o600)
}
