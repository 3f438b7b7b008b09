package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Outside returns nil if the path lies outside the root: it is neither the root
// nor below it, nor a directory that contains it. The path need not exist; a
// relative one is taken from the directory that the process is really in.
//
// The answer is about the path, at this moment: see the package's list of what
// it cannot tell. Give the path as it will be opened: filepath.Clean and Join
// remove ".." by spelling, which leads elsewhere where a link is before it.
//
// Errors: *InsideError, and *UndecidedError where it cannot tell. Both mean no.
func (r Root) Outside(path string) error {
	if r.info == nil {
		return &UndecidedError{path, "there is no root", "find one with guard.Find", nil}
	}
	at, err := walk(path)
	if err != nil {
		return err
	}
	inside := func(how string) error { return &InsideError{path, at.String(), r, how} }
	undecided := func(why, cure string, err error) error { return &UndecidedError{path, why, cure, err} }

	// The root's own path leads to another directory once it was moved.
	if now, err := os.Stat(r.Path); err != nil || !os.SameFile(now, r.info) {
		return undecided("the repository was moved since the start", "start the program again", err)
	}
	switch below, err := r.above(at.dir); {
	case err != nil:
		return undecided("cannot look at what is above "+show(at.dir), "make the directories above it searchable for this user", err)
	case below:
		return inside("lies in")
	}
	switch contains, err := r.below(at); {
	case err != nil:
		return undecided("cannot look at what is above "+show(r.Path), "make the directories above it searchable for this user", err)
	case contains:
		return inside("contains")
	}
	switch other, err := mountedFrom(at.dir, r); {
	case err != nil:
		return undecided("cannot tell where "+show(at.dir)+" is mounted from", "mount /proc, on Linux 5.8 or later", err)
	case other != "":
		return inside("is or holds what is mounted as " + show(other) + " in")
	}
	return r.otherNames(at, inside, undecided)
}

// above tells whether the root is dir or one of those above it. By identity of
// each: the path of dir is free of links, so these are its true parents.
func (r Root) above(dir string) (bool, error) {
	return anyAbove(dir, r.info)
}

// below tells whether the root lies in the place, which must exist for that.
func (r Root) below(at place) (bool, error) {
	if len(at.missing) > 0 {
		return false, nil
	}
	info, err := os.Stat(at.dir)
	if err != nil {
		return false, err
	}
	return anyAbove(r.Path, info)
}

func anyAbove(dir string, which fs.FileInfo) (bool, error) {
	for {
		info, err := os.Stat(dir)
		if err != nil {
			return false, err
		}
		if os.SameFile(info, which) {
			return true, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false, nil
		}
		dir = up
	}
}

// otherNames looks in the repository for another name of a file that has more
// than one.
func (r Root) otherNames(at place, inside func(string) error, undecided func(string, string, error) error) error {
	info, err := os.Stat(at.dir)
	if err != nil {
		return undecided("cannot look at "+show(at.dir), "make it readable for this user", err)
	}
	if len(at.missing) > 0 || info.IsDir() || names(at.dir, info) < 2 {
		return nil
	}
	other, err := r.find(info)
	switch {
	case errors.Is(err, errTooMany):
		return undecided(fmt.Sprintf("the file has several names, and the repository more than %d files to look among", r.maxFiles),
			"copy the file so that it has one name", nil)
	case err != nil:
		return undecided("the file has several names, and not all of the repository can be read to look for one", "copy the file so that it has one name", err)
	case other != "":
		return inside("is also known as " + show(other) + " in")
	}
	return nil
}

var errTooMany = errors.New("too many files")

// find walks the repository for a name of the file. It does not follow links:
// where they lead is not in the repository by them.
func (r Root) find(file fs.FileInfo) (name string, err error) {
	seen := 0
	err = filepath.WalkDir(r.Path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > r.maxFiles {
			return errTooMany
		}
		if !d.Type().IsRegular() || !sameInode(d, path, file) {
			return nil
		}
		name = path
		return filepath.SkipAll
	})
	return name, err
}

// sameInode: a file that vanished during the walk is none of the file's names.
func sameInode(d fs.DirEntry, path string, file fs.FileInfo) bool {
	info, err := d.Info()
	return err == nil && os.SameFile(info, file)
}
