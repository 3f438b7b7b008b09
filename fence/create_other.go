//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package fence

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// createFile makes the file under a random name beside it and links it into
// place, which fails where another was faster. A creator that is killed leaves
// the random name behind.
func createFile(path string, w want) (*file, error) {
	failed := func(err error) error { return &WriteError{"create", path, NotWritten, err} }
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".creating*")
	if err != nil {
		return nil, pathError(path, err)
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return nil, failed(err)
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, &bbolt.Options{Timeout: w.wait})
	if err != nil {
		return nil, failed(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return initMeta(tx, w) })
	if err := joined(err, db.Close()); err != nil {
		return nil, failed(err)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failed(err)
	}
	return nil, errAgain // the next round opens it, whoever made it
}

// syncDir: these systems have no such thing, or keep names by a journal.
func syncDir(string) error { return nil }

// unlock: closing the descriptor does it.
func unlock(*os.File) {}
