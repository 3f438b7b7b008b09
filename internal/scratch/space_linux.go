// Package scratch makes, restores and cleans the private copies in which
// experiments run. What it copies from it only reads.
package scratch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"golang.org/x/sys/unix"
)

// lockName is the file in a space whose lock its owner holds. The kernel lets go
// of it when the owner is gone, however it went: a pid would be used again.
const lockName = ".faultfs-space"

// spaceName is what a space is called. All are of one length, so that no run's
// paths are longer than another's.
var spaceName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^faultfs-[0-9a-f]{12}$`) })

// Space is one invocation's folder for copies.
type Space struct {
	dir  string
	lock *os.File

	mu   sync.Mutex
	next int // number of the next base or copy
}

// OtherDisk is where a program is given a folder on another disk than its copy's.
const OtherDisk = "/dev/shm"

// New makes a space under $TMPDIR, open to its owner only, and removes the spaces
// of this user whose owners are gone, also those on the other disk.
func New() (*Space, error) {
	parent, err := filepath.Abs(os.TempDir())
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err != nil {
		return nil, fmt.Errorf("scratch space: %w: set TMPDIR to a directory", err)
	}
	sweep(parent)
	sweep(OtherDisk)
	return NewIn(parent)
}

// NewIn makes a space in a directory that is named without links.
func NewIn(parent string) (*Space, error) {
	for range 100 {
		s, err := claim(filepath.Join(parent, randomName()))
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, errLost) {
			return nil, fmt.Errorf("scratch space: %w: set TMPDIR to a directory that can be written", err)
		}
	}
	return nil, fmt.Errorf("scratch space: every new folder in %s was taken by another", parent)
}

func randomName() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return "faultfs-" + hex.EncodeToString(b[:])
}

// errLost says that another took the folder before it was ours.
var errLost = errors.New("lost")

// claim makes dir a space. Until the lock is held another's sweep may take the
// new folder for a dead one's, so what is locked is looked at again.
func claim(dir string) (*Space, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, errLost
		}
		return nil, err
	}
	name := filepath.Join(dir, lockName)
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, errLost
		}
		os.Remove(dir)
		return nil, err
	}
	if !flock(lock) || !still(lock, name) {
		lock.Close()
		return nil, errLost
	}
	return &Space{dir: dir, lock: lock}, nil
}

func flock(f *os.File) bool {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// still reports whether f is what stands under name.
func still(f *os.File, name string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(name)
	return err == nil && os.SameFile(open, named)
}

// sweep removes what dead owners left in parent. What it cannot remove is no
// concern of this invocation.
func sweep(parent string) {
	all, _ := filepath.Glob(filepath.Join(parent, "faultfs-*"))
	for _, dir := range all {
		if spaceName().MatchString(filepath.Base(dir)) && ours(dir) {
			sweepOne(dir)
		}
	}
}

func ours(dir string) bool {
	st, err := statAt(unix.AT_FDCWD, dir)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == os.Geteuid()
}

func sweepOne(dir string) {
	name := filepath.Join(dir, lockName)
	lock, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		os.Remove(dir) // only an empty one goes: an owner died before it locked
		return
	}
	if err != nil {
		return
	}
	defer lock.Close()
	if flock(lock) && still(lock, name) {
		wipe(dir)
	}
}

// wipe removes the space dir. The lock file goes last: a clearing that is
// interrupted must leave what the next one knows for a space.
func wipe(dir string) error {
	if err := emptyAt(unix.AT_FDCWD, dir, lockName); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		return err
	}
	// Without its lock file an empty folder looks like a dead one's, and another's
	// start may have taken it away by now.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Dir is the space's absolute path, without links.
func (s *Space) Dir() string { return s.dir }

// Close removes the space with all its copies. It may be called again.
func (s *Space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	if err := wipe(s.dir); err != nil {
		return fmt.Errorf("scratch space is left behind: %w", err)
	}
	err := s.lock.Close()
	s.lock = nil
	return err
}

// folder makes the next numbered folder, with room for a tree, temporary files
// and output. Numbers have one length, and so have all trees' paths.
func (s *Space) folder() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return "", errors.New("scratch space is closed")
	}
	if s.next > 9999 {
		return "", errors.New("scratch space: more than 9999 copies")
	}
	dir := filepath.Join(s.dir, fmt.Sprintf("%04d", s.next))
	for _, d := range []string{dir, filepath.Join(dir, "tmp"), filepath.Join(dir, "out")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", fmt.Errorf("scratch copy: %w", err)
		}
	}
	s.next++
	return dir, nil
}

// checkFree refuses a copy that would not fit on the disk.
func (s *Space) checkFree(what string, bytes int64) error {
	var fsys unix.Statfs_t
	if err := unix.Statfs(s.dir, &fsys); err != nil {
		return pathError("statfs", s.dir, err)
	}
	if fsys.Type == unix.BTRFS_SUPER_MAGIC || fsys.Type == unix.XFS_SUPER_MAGIC {
		return nil // a copy may take next to nothing there
	}
	free := int64(fsys.Bavail) * fsys.Bsize
	if bytes <= free {
		return nil
	}
	return fmt.Errorf("copy %s: it takes %s, and %s has %s free: set TMPDIR to a larger disk, or give a smaller tree",
		what, bytesText(bytes), s.dir, bytesText(free))
}
