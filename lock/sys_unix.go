//go:build unix

package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// errNoFlock says that flock cannot work on this file, for anybody: not that somebody else has it.
var errNoFlock = fmt.Errorf("%w: this file system has no flock (on NFS: or its lock service does not answer)", errors.ErrUnsupported)

var errBusy = errors.New("another process is writing or removing it at this moment")

func createExclusive(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// openForLook opens what is at path without following a link and without waiting for the other end of a fifo. Writing is
// asked for because NFS turns flock into a lock that demands it; where that is refused, reading will do.
func openForLook(path string) (*os.File, error) {
	const look = unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := os.OpenFile(path, os.O_RDWR|look, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		f, err = os.OpenFile(path, os.O_RDONLY|look, 0)
	}
	return f, err
}

// writeOnce is one write call. os.File.Write goes on after a short one, and a record must come in one piece or not at all.
func writeOnce(f *os.File, b []byte) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	used := raw.Write(func(fd uintptr) bool {
		for n, err = unix.Write(int(fd), b); err == unix.EINTR; {
			n, err = unix.Write(int(fd), b)
		}
		return true
	})
	return max(n, 0), errors.Join(err, used)
}

func unlink(path string) error {
	if err := unix.Unlink(path); err != nil { // os.Remove would go on to rmdir
		return &fs.PathError{Op: "unlink", Path: path, Err: err}
	}
	return nil
}

// A pin is a descriptor that keeps a file, and with it the inode number, alive.
type pin struct {
	f     *os.File
	stuck bool // a flock call on it never returned: the descriptor must not be closed, or the number would be reused

	mu      sync.Mutex
	waiting chan error // the result of the flock call under way, nil if there is none
	wanted  bool       // somebody waits for that result

	known    bool
	dev, ino uint64 // of f, once known
}

func newPin(f *os.File) (*pin, error) {
	var fd int
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	used := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, used); err != nil {
		return nil, err
	}
	return &pin{f: os.NewFile(uintptr(fd), f.Name())}, nil
}

// lock takes the flock of the pinned file, waiting at most limit. Taking it twice is taking it once.
//
// A wait cannot be called off, so one that lasts too long goes on, and the next call joins it: two waits on one descriptor
// would both be granted, and the first to give up would unlock for both.
func (p *pin) lock(limit time.Duration) error {
	p.mu.Lock()
	if p.waiting == nil {
		p.waiting = make(chan error, 1)
		go p.wait(p.waiting)
	}
	p.wanted = true
	result := p.waiting
	p.mu.Unlock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-result:
		return err
	case <-late.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case err := <-result: // in the last moment
		return err
	default:
	}
	p.wanted, p.stuck = false, true
	return fmt.Errorf("%w (waited %v)", errBusy, limit)
}

// wait waits for the flock, and lets it go at once if nobody wants it by then.
func (p *pin) wait(result chan<- error) {
	err := p.flock(unix.LOCK_EX)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = nil
	if p.wanted {
		result <- err
	} else if err == nil {
		p.unlock()
	}
}

func (p *pin) unlock() { _ = p.flock(unix.LOCK_UN) }

func (p *pin) flock(how int) error {
	fd := int(p.f.Fd())
	err := unix.Flock(fd, how)
	for err == unix.EINTR {
		err = unix.Flock(fd, how)
	}
	switch err {
	case unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL, unix.EBADF: // EBADF: NFS, opened for reading
		return fmt.Errorf("%w: %w", errNoFlock, err)
	}
	return err
}

func (p *pin) close() error {
	if p.stuck {
		return nil
	}
	return p.f.Close()
}

// names tells whether path, not followed if it is a link, is the pinned file.
func (p *pin) names(path string) (bool, error) {
	if err := p.know(); err != nil {
		return false, err
	}
	var there unix.Stat_t
	err := unix.Lstat(path, &there)
	if err == unix.ENOENT {
		return false, nil
	}
	return p.dev == uint64(there.Dev) && p.ino == uint64(there.Ino), err
}

// know asks once: the answer cannot change while the descriptor is open, and a release should have little that can fail.
func (p *pin) know() error {
	var ours unix.Stat_t
	if p.known {
		return nil
	}
	if err := unix.Fstat(int(p.f.Fd()), &ours); err != nil {
		return err
	}
	p.known, p.dev, p.ino = true, uint64(ours.Dev), uint64(ours.Ino)
	return nil
}

// identity names the state of one file: it changes when the file is written to or replaced.
func identity(f *os.File) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", &fs.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return fmt.Sprintf("inode:%d:%d:%d:%d", st.Dev, st.Ino, st.Ctim.Nano(), st.Size), nil
}

// notOpened says what is at a path that openForLook cannot open, where the error alone would puzzle.
func notOpened(err error) string {
	switch {
	case errors.Is(err, unix.ELOOP):
		return "a symbolic link"
	case errors.Is(err, unix.EISDIR):
		return "a directory"
	case errors.Is(err, unix.ENXIO):
		return "a socket"
	}
	return ""
}

// openToRead opens what is at path for Inspect. It asks for no more than reading: a look never writes.
func openToRead(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// openFlock opens or makes the file at path and takes its flock.
func openFlock(path string) (*flockFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) // no O_TRUNC: it may be somebody's record
	if err != nil {
		return nil, err
	}
	f := &flockFile{pin: pin{f: file}, path: path}
	err = f.flock(unix.LOCK_EX | unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = heldFlock(path)
	} else {
		err = &fs.PathError{Op: "flock", Path: path, Err: err}
	}
	return nil, errors.Join(err, file.Close())
}

// heldFlock is the refusal: the kernel says that it is held, whatever the record says of its holder.
func heldFlock(path string) error {
	s, err := Inspect(path)
	if err != nil || s.Record.Design != designFlock {
		return &HeldError{Status: Status{Path: path, State: Unknown, Detail: "it has not written its record yet"}}
	}
	if s.State == Gone || s.State == Reused {
		s.Detail = "but a process that inherited its descriptor still has the lock"
	}
	s.Token = ""
	return &HeldError{Status: s}
}
