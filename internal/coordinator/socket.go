package coordinator

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"faultlab/fence"
)

// socket is a listener whose path is this process's alone while it lives.
type socket struct {
	net.Listener
	path string
	lock *os.File
	made os.FileInfo // the socket file that was made here
}

// listen takes the right to the path, clears what a dead coordinator left and
// listens.
func listen(path string) (*socket, error) {
	if err := fence.CheckSocket(path); err != nil {
		return nil, err
	}
	lock, err := takeLock(path)
	if err != nil {
		return nil, err
	}
	s := &socket{path: path, lock: lock}
	if err := s.bind(); err != nil {
		return nil, oneLine(err, s.unlock())
	}
	return s, nil
}

// takeLock opens and locks the lock file. The one who held it before may have
// removed it between our open and our lock, so it starts over until the file
// that it has locked is the one of that name.
func takeLock(path string) (*os.File, error) {
	name := path + ".lock"
	for range 100 {
		f, err := openLock(name)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w: make its directory, or name a socket in one that this user may write to", name, bare(err))
		}
		if err = lockNamed(f); err == nil {
			return f, record(f)
		}
		defer f.Close()
		switch {
		case errors.Is(err, errTaken):
			return nil, &inUseError{path, whoServes(f)}
		case !errors.Is(err, errLost):
			return nil, fmt.Errorf("lock %s: %w: put the socket on a local file system", name, err)
		}
	}
	return nil, fmt.Errorf("lock %s: it is removed again and again: stop what removes it", name)
}

// record writes who serves, for systems that do not tell. Only now: one that is
// refused must leave the record of the one that serves as it is.
func record(lock *os.File) error {
	if err := errors.Join(lock.Truncate(0), writeAt(lock, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		os.Remove(lock.Name())
		lock.Close()
		return fmt.Errorf("write %s: %w: make room on the disk", lock.Name(), bare(err))
	}
	return nil
}

// errLost: the file that was locked has lost its name.
var errLost = errors.New("removed meanwhile")

// lockNamed locks a file and looks whether it still is the one of its name.
func lockNamed(f *os.File) error {
	if err := flock(f); err != nil {
		return err
	}
	got, err := f.Stat()
	named, nerr := os.Lstat(f.Name())
	if err != nil || nerr != nil || !os.SameFile(got, named) {
		return errLost
	}
	return nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

// whoServes asks the kernel, which cannot be out of date, and else the record.
func whoServes(lock *os.File) string {
	if h := fence.WhoLocks(lock.Name()); h.Pid != 0 {
		return h.String()
	}
	b := make([]byte, 20)
	n, _ := lock.ReadAt(b, 0)
	if pid, err := strconv.Atoi(string(b[:max(n-1, 0)])); err == nil {
		return fmt.Sprintf("pid %d", pid)
	}
	return "another process"
}

// inUseError refuses a socket that a live coordinator serves.
type inUseError struct{ path, who string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("serve on %s: in use by a coordinator, %s: use that one, end it, or name another socket", e.path, e.who)
}

// bind runs under the lock, so what is at the path is not a coordinator's that
// lives.
func (s *socket) bind() error {
	if err := clearSocket(s.path); err != nil {
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen on %s: %w: name a socket in a directory that this user may write to", s.path, bare(err))
	}
	l.SetUnlinkOnClose(false) // by path, and without a look at what is there
	s.Listener = l
	s.made, err = os.Lstat(s.path)
	if err == nil {
		err = os.Chmod(s.path, 0o600)
	}
	if err != nil {
		l.Close()
		return fmt.Errorf("listen on %s: %w: leave the socket alone while a coordinator starts", s.path, bare(err))
	}
	return nil
}

// clearSocket removes a socket that a dead coordinator left, and nothing else.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w: name a socket in a directory that this user may read", path, bare(err))
	case info.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("serve on %s: there is something else than a socket, which is left alone: name another path", path)
	}
	// Programs that know nothing of our lock file may listen there too.
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return &inUseError{path, "or another program, that does not hold " + path + ".lock"}
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("serve on %s: cannot tell whether the socket there is in use: %w: name another path, or remove it if it is not", path, bare(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove %s, left by a coordinator that died: %w: remove it", path, bare(err))
	}
	return nil
}

// release removes the socket, if it is still ours, and then lets go of the path.
func (s *socket) release() error {
	return oneLine(s.removeSocket(), s.unlock())
}

func (s *socket) removeSocket() error {
	info, err := os.Lstat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.made) {
		return nil
	}
	if err == nil {
		err = os.Remove(s.path)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w: remove it; the next coordinator would, too", s.path, bare(err))
	}
	return nil
}

// unlock removes the lock file while it is still locked: afterwards the name
// may be another's.
func (s *socket) unlock() error {
	err := os.Remove(s.lock.Name())
	s.lock.Close()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w: leave it, it does no harm", s.lock.Name(), bare(err))
	}
	return nil
}

// bare takes the operation and the path off an error, where the message has its
// own.
func bare(err error) error {
	var pe *fs.PathError
	var oe *net.OpError
	var se *os.SyscallError
	if errors.As(err, &oe) {
		err = oe.Err
	}
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.As(err, &se) {
		err = se.Err
	}
	return err
}
