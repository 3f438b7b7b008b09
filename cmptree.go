package faultlab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
)

func cmptree(ts *testscript.TestScript, neg bool, args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	a, b := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	if a == b {
		return errors.New("cannot compare a directory with itself")
	}
	diffs, err := differences(a, b)
	if err != nil {
		return err
	}
	for _, d := range diffs {
		fmt.Fprintln(ts.Stdout(), d)
	}
	switch {
	case neg && len(diffs) == 0:
		return fmt.Errorf("%s and %s do not differ", args[0], args[1])
	case !neg && len(diffs) > 0:
		return fmt.Errorf("%s and %s differ in %d places", args[0], args[1], len(diffs))
	}
	return nil
}

// differences compares two directories, one line for each that is found,
// sorted by name: "run.lock: only in the second".
func differences(a, b string) ([]string, error) {
	first, err := namesBelow(a)
	if err != nil {
		return nil, err
	}
	second, err := namesBelow(b)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(first, second)
	slices.Sort(names)
	var diffs []string
	for _, name := range slices.Compact(names) {
		d, err := difference(filepath.Join(a, name), filepath.Join(b, name))
		if err != nil {
			return nil, err
		}
		if d != "" {
			diffs = append(diffs, name+": "+d)
		}
	}
	return diffs, nil
}

// namesBelow lists dir's files, itself included as ".".
func namesBelow(dir string) ([]string, error) {
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	return names, err
}

// difference says how b differs from a, both names of which one may be absent.
func difference(a, b string) (string, error) {
	fa, errA := os.Lstat(a)
	fb, errB := os.Lstat(b)
	switch {
	case errors.Is(errA, fs.ErrNotExist):
		return "only in the second", errB
	case errors.Is(errB, fs.ErrNotExist):
		return "only in the first", errA
	case errA != nil || errB != nil:
		return "", errors.Join(errA, errB)
	case fa.Mode() != fb.Mode() && fa.Mode()&fs.ModeSymlink == 0:
		return fmt.Sprintf("%v in the first, %v in the second", fa.Mode(), fb.Mode()), nil
	case fa.Mode().Type() != fb.Mode().Type():
		return fmt.Sprintf("%v in the first, %v in the second", fa.Mode(), fb.Mode()), nil
	case fa.Mode()&fs.ModeSymlink != 0:
		return different(os.Readlink, "links to %q in the first, %q in the second", a, b)
	case fa.Mode().IsRegular():
		return differentContents(a, b)
	}
	return "", nil
}

func different(read func(string) (string, error), format, a, b string) (string, error) {
	ta, errA := read(a)
	tb, errB := read(b)
	if ta == tb {
		return "", errors.Join(errA, errB)
	}
	return fmt.Sprintf(format, ta, tb), errors.Join(errA, errB)
}

func differentContents(a, b string) (string, error) {
	da, errA := os.ReadFile(a)
	db, errB := os.ReadFile(b)
	if err := errors.Join(errA, errB); err != nil || bytes.Equal(da, db) {
		return "", err
	}
	at := 0
	for at < min(len(da), len(db)) && da[at] == db[at] {
		at++
	}
	return fmt.Sprintf("%d bytes in the first, %d in the second, different from byte %d on", len(da), len(db), at), nil
}
