//go:build !unix

package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Without flock two removers cannot be kept apart, so there is only one here: Break refuses, and Release and rollback
// remove what they made themselves.
var errNoFlock = fmt.Errorf("%w: this system has no flock", errors.ErrUnsupported)

func createExclusive(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func openForLook(path string) (*os.File, error) { return os.Open(path) }

func openToRead(path string) (*os.File, error) { return os.Open(path) }

func openFlock(path string) (*flockFile, error) {
	return nil, &fs.PathError{Op: "flock", Path: path, Err: errNoFlock}
}

func writeOnce(f *os.File, b []byte) (int, error) { return f.Write(b) }

func unlink(path string) error { return os.Remove(path) }

// A pin is the identity of the file here: an open file could not be removed.
type pin struct {
	f    *os.File
	info fs.FileInfo
}

func newPin(f *os.File) (*pin, error) {
	info, err := f.Stat()
	return &pin{info: info}, err
}

func (p *pin) lock(time.Duration) error { return errNoFlock }

func (p *pin) unlock() {}

func (p *pin) close() error {
	if p.f == nil {
		return nil
	}
	return p.f.Close()
}

func (p *pin) names(path string) (bool, error) {
	info, err := os.Lstat(path)
	if p.info == nil {
		return false, errNoFlock // Stat failed when the file was made: it cannot be told from another one
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(p.info, info), err
}

func identity(f *os.File) (string, error) { return "", nil }

func notOpened(err error) string { return "" }
