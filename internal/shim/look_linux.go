package shim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// looker finds out which file a held call is about, by looking through /proc
// and into the subject's memory. The caller is held meanwhile, so what it
// points at stands still. One thread uses it.
type looker struct {
	root    string            // the tree, resolved once, without a trailing slash
	fds     map[int]int       // thread id -> O_PATH descriptor of its /proc/…/fd
	names   map[string]string // absolute -> as printed; spares an allocation a call
	scratch [4096]byte
	path    [4096]byte
	// blind collects the programs that the kernel will not let us look into.
	blind map[string]unix.Errno
	// breathe is called between steps that take long.
	breathe func()
}

const (
	maxFds   = 512   // threads whose descriptor directory is kept open
	maxNames = 16384 // file names that are kept
	maxLinks = 40    // as many symbolic links as the kernel follows
)

func newLooker(root string, breathe func()) *looker {
	return &looker{
		root:    root,
		fds:     make(map[int]int),
		names:   make(map[string]string),
		blind:   make(map[string]unix.Errno),
		breathe: breathe,
	}
}

func (l *looker) close() {
	for tid := range l.fds {
		l.forget(tid)
	}
}

func (l *looker) forget(tid int) {
	_ = unix.Close(l.fds[tid])
	delete(l.fds, tid)
}

// file is what a path led to.
type file struct {
	path   string // as printed: relative to the tree, or absolute
	exists bool
	size   int64 // of a regular file
}

// descriptor names the file behind a descriptor by its last name in the tree.
func (l *looker) descriptor(tid int, fd uint64, out *string) bool {
	if int32(fd) < 0 {
		return false // the call will fail by itself
	}
	n, errno := l.readDescriptor(tid, int(int32(fd)))
	if errno != 0 {
		l.blame(tid, errno)
		return false
	}
	if n == 0 || l.path[0] != '/' {
		return false // a pipe, a socket, an anonymous inode
	}
	*out = l.print(l.living(tid, int(int32(fd)), l.path[:n]))
	return true
}

// readDescriptor fills l.path from /proc/TID/fd/FD.
func (l *looker) readDescriptor(tid, fd int) (int, unix.Errno) {
	dir, kept := l.fds[tid]
	if kept {
		if n, errno := readlinkFD(dir, fd, l.path[:]); errno == 0 {
			return n, 0
		}
		l.forget(tid) // the thread that had this id is gone, or the descriptor
	}
	if len(l.fds) >= maxFds {
		l.close()
	}
	dir, err := unix.Open("/proc/"+strconv.Itoa(tid)+"/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err.(unix.Errno)
	}
	l.fds[tid] = dir
	return readlinkFD(dir, fd, l.path[:])
}

var deletedMark = []byte(" (deleted)")

// living strips the kernel's mark from the name of an unlinked file. The mark
// is a legal ending of a name, so it goes only if the full string does not lead
// to this very inode.
func (l *looker) living(tid, fd int, name []byte) []byte {
	if !bytes.HasSuffix(name, deletedMark) {
		return name
	}
	var open, named unix.Stat_t
	if unix.Stat(fmt.Sprintf("/proc/%d/fd/%d", tid, fd), &open) == nil &&
		unix.Lstat(string(name), &named) == nil && open.Dev == named.Dev && open.Ino == named.Ino {
		return name
	}
	return name[:len(name)-len(deletedMark)]
}

// print makes an absolute path relative to the tree, where it lies in it.
func (l *looker) print(abs []byte) string {
	if s, ok := l.names[string(abs)]; ok {
		return s
	}
	s := string(abs)
	if s == l.root {
		s = "."
	} else if l.root == "/" {
		s = s[1:]
	} else if strings.HasPrefix(s, l.root) && s[len(l.root)] == '/' {
		s = s[len(l.root)+1:]
	}
	if len(l.names) >= maxNames {
		clear(l.names)
	}
	l.names[string(abs)] = s
	return s
}

// left is how many bytes of an open regular file lie behind an offset: the one
// that a pointer leads to, or without a pointer the descriptor's own.
func (l *looker) left(tid int, fd, pointer uint64) (int64, bool) {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("%sfd/%d", procDir(tid), int32(fd)), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, false
	}
	var at int64
	if pointer != 0 {
		at = int64(l.word(tid, pointer))
	} else {
		info, err := os.ReadFile(fmt.Sprintf("%sfdinfo/%d", procDir(tid), int32(fd)))
		if _, err2 := fmt.Sscanf(string(info), "pos: %d", &at); err != nil || err2 != nil {
			return 0, false
		}
	}
	return max(st.Size-at, 0), true
}

// named resolves the path that a call has in argument path, from the directory
// in argument dir.
func (l *looker) named(n *notification, dir, path int, follow bool) (file, bool) {
	from := unix.AT_FDCWD
	if dir != none {
		from = int(int32(n.args[dir]))
	}
	tid := int(n.tid)
	if n.args[path] == 0 { // futimens: the descriptor itself
		return l.itself(tid, from)
	}
	name, errno := l.text(tid, n.args[path])
	if errno != 0 {
		l.blame(tid, errno)
		return file{}, false
	}
	if name == "" {
		return l.itself(tid, from)
	}
	return l.resolve(tid, from, name, follow)
}

// itself is the file that a directory argument is when the path is empty.
func (l *looker) itself(tid, fd int) (file, bool) {
	f := file{exists: true}
	if fd == unix.AT_FDCWD {
		return l.resolve(tid, fd, ".", true)
	}
	ok := l.descriptor(tid, uint64(fd), &f.path)
	return f, ok
}

// resolve finds the file that a path names for a thread. What does not exist
// is named by its directory's true name and its last element.
func (l *looker) resolve(tid, dir int, name string, follow bool) (file, bool) {
	at := l.base(tid, dir, name)
	for range maxLinks {
		l.breathe()
		if f, ok := l.existing(at, follow); ok {
			return f, true
		}
		l.breathe()
		parent, last := filepath.Split(strings.TrimRight(at, "/"))
		abs, ok := l.realName(parent)
		if !ok {
			break
		}
		at = strings.TrimSuffix(abs, "/") + "/" + last
		target, err := os.Readlink(at)
		if !follow || err != nil {
			return file{path: l.print([]byte(at))}, true
		}
		if filepath.IsAbs(target) { // a link to what is not there
			at = target
		} else {
			at = parentOf(at) + "/" + target
		}
	}
	// A directory on the way is missing or closed to us: by its spelling then.
	abs := filepath.Clean(at)
	if rest, ok := strings.CutPrefix(at, procDir(tid)+"cwd/"); ok {
		cwd, _ := os.Readlink(procDir(tid) + "cwd")
		abs = filepath.Join(cwd, rest)
	}
	return file{path: l.print([]byte(abs))}, filepath.IsAbs(abs)
}

// parentOf keeps what filepath.Dir would clean away: "..", after a link.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// base spells a subject's path so that it means the same to the supervisor.
func (l *looker) base(tid, dir int, name string) string {
	proc := procDir(tid)
	if name[0] != '/' {
		if dir == unix.AT_FDCWD {
			return proc + "cwd/" + name
		}
		return proc + "fd/" + strconv.Itoa(dir) + "/" + name
	}
	for _, own := range []struct{ prefix, is string }{
		{"/proc/self/", ""}, {"/proc/thread-self/", ""}, {"/dev/fd/", "fd/"},
	} {
		if rest, ok := strings.CutPrefix(name, own.prefix); ok {
			return proc + own.is + rest
		}
	}
	switch name {
	case "/dev/stdin":
		return proc + "fd/0"
	case "/dev/stdout":
		return proc + "fd/1"
	case "/dev/stderr":
		return proc + "fd/2"
	}
	return proc + "root" + name // its root may be another one
}

func procDir(tid int) string { return "/proc/" + strconv.Itoa(tid) + "/" }

// existing opens a path for its name only; nothing is read or changed.
func (l *looker) existing(path string, follow bool) (file, bool) {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if !follow && !strings.HasSuffix(path, "/") {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(path, flags, 0)
	if err != nil {
		return file{}, false
	}
	defer unix.Close(fd)
	n, errno := readlinkFD(l.own(), fd, l.path[:])
	if errno != 0 || n == 0 || l.path[0] != '/' {
		return file{}, false
	}
	f := file{exists: true}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		f.size = st.Size
	}
	f.path = l.print(l.living(os.Getpid(), fd, l.path[:n]))
	return f, true
}

// own is the supervisor's own descriptor directory.
func (l *looker) own() int {
	const key = 0 // no thread's id
	if dir, ok := l.fds[key]; ok {
		return dir
	}
	dir, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	l.fds[key] = dir
	return dir
}

// realName is the kernel's own name of a directory.
func (l *looker) realName(path string) (string, bool) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", false
	}
	return string(l.living(os.Getpid(), fd, []byte(name))), true
}

// text reads a NUL-terminated string, never across a page that need not be
// there: a path may end where the mapping does.
func (l *looker) text(tid int, addr uint64) (string, unix.Errno) {
	const page = 4096
	got := 0
	for got < len(l.scratch) {
		at := addr + uint64(got)
		want := min(page-int(at%page), len(l.scratch)-got)
		n, errno := peek(tid, at, l.scratch[got:got+want])
		if errno != 0 {
			return "", errno
		}
		if end := bytes.IndexByte(l.scratch[got:got+n], 0); end >= 0 {
			return string(l.scratch[:got+end]), 0
		}
		if got += n; n < want {
			break
		}
	}
	return "", unix.ENAMETOOLONG
}

// word reads one machine word.
func (l *looker) word(tid int, addr uint64) uint64 {
	var b [8]byte
	if _, errno := peek(tid, addr, b[:]); errno != 0 {
		l.blame(tid, errno)
	}
	return binary.NativeEndian.Uint64(b[:])
}

// span is a struct iovec of the subject's.
type span struct{ base, size uint64 }

// vectors reads an array of struct iovec.
func (l *looker) vectors(tid int, addr, count uint64) []span {
	out, errno := vectorsAt(tid, addr, count)
	if errno != 0 {
		l.blame(tid, errno)
	}
	return out
}

const iovecSize = 16

func vectorsAt(tid int, addr, count uint64) ([]span, unix.Errno) {
	if count == 0 || count > 1024 { // UIO_MAXIOV; the call itself fails beyond
		return nil, 0
	}
	buf := make([]byte, count*iovecSize)
	if _, errno := peek(tid, addr, buf); errno != 0 {
		return nil, errno
	}
	out := make([]span, count)
	for i := range out {
		out[i].base = binary.NativeEndian.Uint64(buf[i*iovecSize:])
		out[i].size = binary.NativeEndian.Uint64(buf[i*iovecSize+8:])
	}
	return out, 0
}

// blame notes a program that the kernel closes to us: setuid, execute-only,
// or not dumpable by its own wish. A thread that has meanwhile died is not one,
// nor is a bad pointer, which the call itself will report.
func (l *looker) blame(tid int, errno unix.Errno) {
	if errno == unix.EPERM || errno == unix.EACCES {
		l.blind[programOf(tid)] = errno
	}
}
