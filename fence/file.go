package fence

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// DefaultLockWait is how long a store or a grantor waits for another process to
// let go of the file.
const DefaultLockWait = 5 * time.Second

// Every file has one bucket that says what it is. The names are of no use to
// another program, so a bbolt file of somebody else is never taken for ours.
var (
	metaBucket = []byte("faultlab")
	keyKind    = []byte("kind")    // the kind of the file and its version
	keyGrantor = []byte("grantor") // whose tokens it holds
	keyNamed   = []byte("named")   // set once the directory was synced
)

// want is what a caller needs of a file.
type want struct {
	kind     string
	readOnly bool          // shared lock; the file must exist
	wait     time.Duration // for the lock; 0: DefaultLockWait
	init     func(*bbolt.Tx) error
}

// file is an open state file, locked: alone, or shared with readers.
type file struct {
	db      *bbolt.DB
	fd      *os.File                  // bbolt's descriptor, which carries the lock
	path    string                    // free of links
	damaged atomic.Pointer[FileError] // set once bbolt has panicked; then db is not touched again
}

// errAgain: the name was given to another file between two looks.
var errAgain = errors.New("the file was replaced while it was opened")

// openFile opens the file, or creates it unless it is for reading only.
func openFile(path string, w want) (*file, error) {
	if w.wait == 0 {
		w.wait = DefaultLockWait
	}
	var f *file
	err := errAgain
	// Each round lost means that somebody else made progress; the bound is
	// against a process that does nothing but replace the file.
	for range 100 {
		if f, err = tryFile(path, w); !errors.Is(err, errAgain) {
			return f, err
		}
	}
	return nil, &FileError{path, "is replaced again and again", "stop what replaces it, no state file may be replaced while it is in use", err}
}

func tryFile(path string, w want) (*file, error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, lerr := os.Lstat(path); lerr == nil {
			return nil, &FileError{path, "is a link to a file that does not exist", "name the file itself, or remove the link", nil}
		}
		if w.readOnly {
			return nil, fmt.Errorf("open %s: %w: check the path, it is created by the first write", show(path), fs.ErrNotExist)
		}
		return createFile(path, w)
	case err != nil:
		return nil, pathError(path, err)
	}
	return openExisting(real, w)
}

// openExisting opens and locks a file and makes sure that it is ours.
func openExisting(path string, w want) (*file, error) {
	// Before the open, which would wait for ever on a fifo.
	if info, err := os.Stat(path); err != nil {
		return nil, again(path, err)
	} else if !info.Mode().IsRegular() {
		return nil, &FileError{path, "is not a file but " + describeMode(info.Mode()), "name a file", nil}
	}
	f := &file{path: path}
	err := f.bolt(w, func(name string, flag int, mode os.FileMode) (*os.File, error) {
		// bbolt would create a file that is not there and fill one that is
		// empty, and both would start the tokens anew.
		fd, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		if info, err := fd.Stat(); err != nil || info.Size() == 0 {
			fd.Close()
			return nil, cmp.Or(err, errEmpty)
		}
		f.fd = fd
		return fd, nil
	})
	if err != nil {
		return nil, f.openError(w, err)
	}
	if err := f.check(w); err != nil {
		f.abandon()
		return nil, err
	}
	return f, nil
}

var errEmpty = errors.New("empty")

// bolt lets bbolt open the file. What bbolt maps of a damaged or cut-off file
// ends in a panic or a fault, and a fault would end the program.
func (f *file) bolt(w want, open func(string, int, os.FileMode) (*os.File, error)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer f.caught(&err)
	f.db, err = bbolt.Open(f.path, 0o600, &bbolt.Options{
		Timeout:      w.wait,
		ReadOnly:     w.readOnly,
		NoStatistics: true,
		OpenFile:     open,
	})
	return err
}

// caught turns a panic of bbolt into an error. After one bbolt's own locks may
// be held for ever, so the file is not used again.
func (f *file) caught(err *error) {
	if r := recover(); r != nil {
		fe := &FileError{f.path, "is damaged or cut off (" + oneLine(fmt.Sprint(r)) + ")", cureDamaged, nil}
		f.damaged.Store(fe)
		*err = fe
	}
}

const cureDamaged = "restore it from a copy that is not older than the last grant, or start new files for grantor and store alike"

func (f *file) openError(w want, err error) error {
	f.abandon()
	switch {
	case f.damaged.Load() != nil:
		return f.damaged.Load()
	case errors.Is(err, errEmpty):
		return &FileError{f.path, "is empty, which a state file never is", "remove it if it was made by hand, else restore it: " + cureDamaged, nil}
	case errors.Is(err, berrors.ErrTimeout):
		return &LockedError{f.path, WhoLocks(f.path), w.wait}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch):
		return &FileError{f.path, "is not a bbolt file", "name the right file, or move this one away", err}
	case errors.Is(err, berrors.ErrChecksum):
		return &FileError{f.path, "is damaged", cureDamaged, err}
	}
	if errno := syscall.Errno(0); !errors.As(err, &errno) {
		// What bbolt says of itself, such as "file size too small".
		return &FileError{f.path, "is damaged or cut off", cureDamaged, err}
	}
	return again(f.path, err)
}

// check tells, under the lock, whether this is still the file of that name, and
// whole, and of the right kind.
func (f *file) check(w want) error {
	info, err := f.fd.Stat()
	if err != nil {
		return pathError(f.path, err)
	}
	named, err := os.Stat(f.path)
	if err != nil || !os.SameFile(info, named) {
		return errAgain
	}
	return f.view(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return &FileError{f.path, fmt.Sprintf("is cut off at %d of %d bytes", info.Size(), tx.Size()), cureDamaged, nil}
		}
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			return &FileError{f.path, "is a bbolt file of another program", "name the right file", nil}
		}
		if kind := string(meta.Get(keyKind)); kind != w.kind {
			return &FileError{f.path, fmt.Sprintf("holds %s, not %s", show(kind), show(w.kind)), "name the right file", nil}
		}
		return nil
	})
}

func (f *file) view(fn func(*bbolt.Tx) error) (err error) {
	if fe := f.damaged.Load(); fe != nil {
		return fe
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer f.caught(&err)
	return f.db.View(fn)
}

// update runs fn in a transaction. An error of fn, which is returned as it is,
// leaves the file untouched; any other is a *WriteError.
func (f *file) update(op string, fn func(*bbolt.Tx) error) (err error) {
	if fe := f.damaged.Load(); fe != nil {
		return fe
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer f.caught(&err)
	tx, err := f.db.Begin(true)
	if err != nil {
		return err
	}
	id := tx.ID()
	if err := fn(tx); err != nil {
		tx.Rollback()
		return err
	}
	err = f.named(tx)
	if err != nil {
		tx.Rollback()
		return &WriteError{op, f.path, NotWritten, err}
	}
	if err := tx.Commit(); err != nil {
		return &WriteError{op, f.path, f.landed(id), err}
	}
	return nil
}

// named makes the file's name durable before the first thing that is said about
// its contents. In the transaction, so that it is done again by the next
// process where this one dies in between.
func (f *file) named(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta.Get(keyNamed) != nil {
		return nil
	}
	if err := syncDir(filepath.Dir(f.path)); err != nil {
		return err
	}
	return meta.Put(keyNamed, []byte{1})
}

// landed finds out what a failed commit left. bbolt writes and syncs the data,
// then writes the meta page, then syncs that; up to the meta page's write the
// old state stands. After it the new one is what every reader sees, and only
// the last sync is missing: the page is written again, since a kernel that has
// reported a failed sync drops the page from what later syncs will write.
func (f *file) landed(id int) Landed {
	last := -1
	err := f.view(func(tx *bbolt.Tx) error { last = tx.ID(); return nil })
	switch {
	case err != nil:
		return Unknown
	case last != id:
		return NotWritten
	case f.rewriteMeta() != nil:
		return Unknown
	}
	return Written
}

// rewriteMeta writes both meta pages as they are and syncs them.
func (f *file) rewriteMeta() error {
	page := make([]byte, f.db.Info().PageSize)
	for i := range int64(2) {
		off := i * int64(len(page))
		if _, err := f.fd.ReadAt(page, off); err != nil {
			return err
		}
		if _, err := f.fd.WriteAt(page, off); err != nil {
			return err
		}
	}
	return f.fd.Sync()
}

// close releases the file. What was committed is durable whatever it returns.
func (f *file) close() error {
	if f.damaged.Load() != nil {
		f.abandon()
		return nil // the damage was reported when it was met
	}
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("close %s: %w", show(f.path), err)
	}
	return nil
}

// abandon lets go of a file that bbolt may not be able to close.
func (f *file) abandon() {
	if f.db != nil && f.damaged.Load() == nil {
		f.db.Close()
	} else if f.fd != nil {
		// Closing is not enough: the map that bbolt leaves keeps the lock.
		unlock(f.fd)
		f.fd.Close()
	}
}

// again asks for another round where the file went away under us.
func again(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errAgain
	}
	return pathError(path, err)
}

// pathError gives an error of the system its path and a cure.
func pathError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	cure := "make sure that the disk works and that its file system has locks"
	switch {
	case errors.Is(err, fs.ErrPermission):
		cure = "make the file and its directory readable and writable for this user, or name another"
	case errors.Is(err, fs.ErrNotExist):
		cure = "make its directory first"
	}
	return fmt.Errorf("open %s: %w: %s", show(path), err, cure)
}

func describeMode(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&os.ModeSocket != 0:
		return "a socket"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device"
}
