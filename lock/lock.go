package lock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
)

// Limit is how long a writer or remover of a lock file waits for another one that is at work on the same file. They
// work for microseconds; only one that was stopped in between takes longer.
const Limit = 10 * time.Second

// ErrLost says that the path does not name our lock file any more: somebody removed it, or removed it and took a lock of
// his own. Nothing was removed. What was done under the lock may not have been alone.
var ErrLost = errors.New("the lock was lost: the path no longer names it, somebody else removed it")

// Options say how a lock describes itself. The zero value is complete.
type Options struct {
	// Command stands in the record for what the holder is doing. Empty: the command line of this process.
	Command string
	// Clear returns the shell command that clears the lock with this token, for refusals; see Quote. Nil: refusals name
	// the call of Break instead.
	Clear func(token string) string
}

func (o Options) clear(path, token string) string {
	switch {
	case token == "":
		return ""
	case o.Clear != nil:
		return o.Clear(token)
	}
	return fmt.Sprintf("lock.Break(%q, %q)", path, token)
}

// Lock is a lock that this process holds. Its methods may be called from any goroutine.
type Lock struct {
	path  string
	token string
	sys   system

	mu  sync.Mutex
	pin *pin // nil: released, or lost
}

// Path is the absolute path of the lock file.
func (l *Lock) Path() string { return l.path }

// Token names this one acquisition: 32 hexadecimal digits, random.
func (l *Lock) Token() string { return l.token }

// Acquire takes the lock at path, or fails and leaves nothing. It does not wait and does not try again. Errors:
//
//	*HeldError           there is a lock, or anything else, at path
//	*fs.PathError        the file could not be created
//	*multierror.Error    it was created, but its record could not be written, synced or closed: one error for each
//	                     operation that failed, those of the rollback included, and a *LeftError if something stayed
//
// A relative path is resolved once, here.
func Acquire(path string, o Options) (*Lock, error) { return realSystem.acquire(path, o) }

// system is the file operations that can fail while a lock is made or given back; tests put failures in their place.
type system struct {
	create func(path string) (*os.File, error)
	pin    func(*os.File) (*pin, error)
	write  func(*os.File, []byte) (int, error) // one call: may write less than all, without an error
	sync   func(*os.File) error
	close  func(*os.File) error
	unlink func(path string) error
	limit  time.Duration
}

var realSystem = system{create: createExclusive, pin: newPin, write: writeOnce,
	sync: (*os.File).Sync, close: (*os.File).Close, unlink: unlink, limit: Limit}

func (s system) acquire(path string, o Options) (*Lock, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w (give an absolute path)", path, err)
	}
	record := newRecord(designCreate, o) // before there is a file: what takes time or fails must not sit in the window
	f, err := s.create(path)
	if errors.Is(err, fs.ErrExist) {
		return nil, refusal(path, o)
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{path: path, token: record.Token, sys: s}
	if errs := l.complete(f, record.line()); errs != nil {
		return nil, l.rollback(errs, o)
	}
	l.pin.unlock()
	return l, nil
}

// complete writes the record into the file that was just created. It leaves the pin as the only descriptor of it, and
// returns every failure.
func (l *Lock) complete(f *os.File, line []byte) *multierror.Error {
	var err error
	if l.pin, err = l.sys.pin(f); err != nil {
		l.pin = &pin{f: f} // no second descriptor to be had: the first one serves for the rollback
		return collect(nil, &fs.PathError{Op: "dup", Path: l.path, Err: err})
	}
	errs := collect(nil, l.fill(f, line))
	return collect(errs, l.sys.close(f)) // a failed write may say why only here (NFS, quotas)
}

func (l *Lock) fill(f *os.File, line []byte) error {
	if err := l.pin.lock(l.sys.limit); err != nil && !errors.Is(err, errNoFlock) {
		return &fs.PathError{Op: "flock", Path: l.path, Err: err}
	}
	if err := l.stillOurs(); err != nil { // somebody may have cleared it as half-made before we had the flock
		return err
	}
	n, err := l.sys.write(f, line)
	switch {
	case err != nil:
		return &fs.PathError{Op: "write", Path: l.path, Err: err}
	case n < len(line):
		// Not written on: what stops a write of a few hundred bytes is a full disk, and the next write would say so.
		return &fs.PathError{Op: "write", Path: l.path, Err: fmt.Errorf("%w: %d of %d bytes", io.ErrShortWrite, n, len(line))}
	}
	return l.sys.sync(f)
}

// stillOurs tells whether the path names our file. It means something only under the pin's flock.
func (l *Lock) stillOurs() error {
	ours, err := l.pin.names(l.path)
	switch {
	case err != nil:
		return &fs.PathError{Op: "lstat", Path: l.path, Err: err}
	case !ours:
		return &fs.PathError{Op: "lock", Path: l.path, Err: ErrLost}
	}
	return nil
}

// rollback removes what complete could not complete, and returns all that went wrong.
func (l *Lock) rollback(errs *multierror.Error, o Options) error {
	err := l.remove()
	_ = l.pin.close() // nothing was written through it; and what is left must be free for Break
	if err != nil && !errors.Is(err, ErrLost) {
		errs = collect(collect(errs, err), left(l.path, o))
	}
	return errs
}

// remove takes our file off the path, and nothing else. See "Why two Breaks and a new Acquire cannot collide".
func (l *Lock) remove() error {
	if err := l.pin.lock(l.sys.limit); err != nil && !errors.Is(err, errNoFlock) {
		return &fs.PathError{Op: "flock", Path: l.path, Err: err}
	}
	err := l.stillOurs()
	if err == nil {
		err = l.sys.unlink(l.path)
	}
	if err != nil {
		l.pin.unlock() // the file stays, and must not look as if it were being removed
	}
	return err
}

// Release gives the lock back. It removes only the file that Acquire made: if the path names another one, or none,
// it removes nothing and returns an error that Is ErrLost. After it has succeeded, or has returned ErrLost, it does
// nothing and returns nil. After another error (the unlink failed) the lock is still held, and Release may be tried again.
func (l *Lock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pin == nil {
		return nil
	}
	err := l.remove()
	if err == nil || errors.Is(err, ErrLost) {
		_ = l.pin.close() // the file has no name any more, and nothing in it was written through this descriptor
		l.pin = nil
	}
	return err
}

// LeftError says that a lock file could not be removed again and is still there.
type LeftError struct {
	Path  string
	Clear string // the command that clears it; empty if none is known
}

func (e *LeftError) Error() string {
	if e.Clear == "" {
		return e.Path + " is left behind: remove it when no other process is at work"
	}
	return fmt.Sprintf("%s is left behind; clear it with: %s", e.Path, e.Clear)
}

func left(path string, o Options) error {
	status, err := Inspect(path)
	if err != nil || status.State == Free {
		return &LeftError{Path: path}
	}
	return &LeftError{Path: path, Clear: o.clear(path, status.Token)}
}

// collect is multierror.Append for errors that may be nil, printed on one line.
func collect(errs *multierror.Error, err error) *multierror.Error {
	if err == nil {
		return errs
	}
	errs = multierror.Append(errs, err)
	errs.ErrorFormat = oneLine
	return errs
}

func oneLine(errs []error) string {
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "; ")
}
