//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package fence

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// createFile makes the file under a name beside it, complete and synced, and
// renames it into place: bbolt fills a new file in place, four pages at once,
// and a crash in the middle leaves what no bbolt opens again.
//
// Two may create at once, so the name beside is one and the same for all and is
// locked: a rename by the second would replace a file in which the first has
// already promised something. A creator that was killed leaves the name beside
// behind, and the next one uses it again.
func createFile(path string, w want) (*file, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, pathError(path, err)
	}
	path = filepath.Join(dir, filepath.Base(path))
	beside := filepath.Join(dir, "."+filepath.Base(path)+".creating")
	fd, err := lockBeside(beside, w.wait)
	if err != nil {
		return nil, err
	}
	// From here on nobody else renames to path.
	if _, err := os.Lstat(path); err == nil {
		os.Remove(beside)
		fd.Close()
		return nil, errAgain
	}
	f := &file{path: beside, fd: fd}
	if err := f.fill(path, w); err != nil {
		f.abandon()
		return nil, joined(err, removeBeside(beside))
	}
	return f, nil
}

// removeBeside takes back what a failed creation left. The lock went with the
// descriptor when bbolt gave up, and by now the name may be another creator's.
func removeBeside(path string) error {
	fd, err := lockBeside(path, 0)
	if err != nil {
		return nil // another has it, who will use it or remove it
	}
	defer fd.Close()
	return os.Remove(path)
}

// fill writes a new file and gives it its name. The directory is synced by the
// first transaction that somebody relies on, see named.
func (f *file) fill(path string, w want) error {
	failed := func(err error) error { return &WriteError{"create", path, NotWritten, err} }
	if err := f.fd.Truncate(0); err != nil {
		return failed(err)
	}
	err := f.bolt(w, func(string, int, os.FileMode) (*os.File, error) { return f.fd, nil })
	if err != nil {
		return failed(err)
	}
	tx, err := f.db.Begin(true)
	if err != nil {
		return failed(err)
	}
	if err := initMeta(tx, w); err != nil {
		return failed(joined(err, tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return failed(err)
	}
	// Before the rename, or a crash could leave the name with nothing in it.
	if err := f.fd.Sync(); err != nil {
		return failed(err)
	}
	if err := os.Rename(f.path, path); err != nil {
		return failed(err)
	}
	f.path = path
	return nil
}

// lockBeside opens and locks the name beside. Between the two the one who held it
// before may have renamed or removed it: errAgain.
func lockBeside(path string, wait time.Duration) (*os.File, error) {
	for deadline := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		fd, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, pathError(path, err)
		}
		err = lockNamed(fd, path)
		if err == nil {
			return fd, nil
		}
		fd.Close()
		switch {
		case errors.Is(err, errAgain):
			return nil, err
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, pathError(path, err)
		}
		if time.Now().After(deadline) {
			return nil, &LockedError{path, WhoLocks(path), wait}
		}
	}
}

// lockNamed locks a file and looks whether it still is the one of that name.
func lockNamed(fd *os.File, path string) error {
	if err := unix.Flock(int(fd.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	got, err := fd.Stat()
	named, nerr := os.Lstat(path)
	if err != nil || nerr != nil || !os.SameFile(got, named) {
		return errAgain
	}
	return nil
}

// syncDir makes the names in a directory durable. Some file systems cannot, and
// say so with EINVAL; there is nothing more to be had from them.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		err = nil
	}
	return joined(err, d.Close())
}

func unlock(fd *os.File) { unix.Flock(int(fd.Fd()), unix.LOCK_UN) }
