package shim

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
)

// none stands for an argument that a call does not have.
const none = -1

// A shape reads a call's arguments into an operation. It reports whether the
// call is an operation on a file that has a name.
type shape interface {
	read(l *looker, n *notification, o *op.Op) bool
}

// descriptor is a call on an open file: read, write, fsync, close …
type descriptor struct{ fd, size, off int }

func (s descriptor) read(l *looker, n *notification, o *op.Op) bool {
	o.Off, o.Size = argument(n, s.off), argument(n, s.size)
	onFile(o, n.args[s.fd])
	return l.descriptor(int(n.tid), n.args[s.fd], &o.Path)
}

// vector is a scattered read or write: struct iovec in argument 1, its length
// in argument 2.
type vector struct{ fd, off int }

func (s vector) read(l *looker, n *notification, o *op.Op) bool {
	if !l.descriptor(int(n.tid), n.args[s.fd], &o.Path) {
		return false
	}
	o.Off, o.Size = argument(n, s.off), 0
	onFile(o, n.args[s.fd])
	for _, v := range l.vectors(int(n.tid), n.args[1], n.args[2]) {
		o.Size += int64(v.size)
	}
	return true
}

// copying moves data between two open files. It is a write where the target is
// in the tree, else a read where the source is.
type copying struct{ from, offset, to, size int }

func (s copying) read(l *looker, n *notification, o *op.Op) bool {
	o.Off = -1
	var target string
	ok := l.descriptor(int(n.tid), n.args[s.to], &target)
	onFile(o, n.args[s.to])
	if ok && inside(target) {
		o.Path = target
	} else if l.descriptor(int(n.tid), n.args[s.from], &o.Path) && inside(o.Path) {
		o.Kind = op.Read
		onFile(o, n.args[s.from])
		ok = true
	} else {
		o.Path = target
		return ok
	}
	// What is asked for can be all that a file may ever hold; what counts is
	// what there is.
	o.Size = argument(n, s.size)
	if left, known := l.left(int(n.tid), n.args[s.from], n.args[s.offset]); known {
		o.Size = min(o.Size, left)
	}
	return true
}

// naming is a call on a path.
type naming struct {
	dir, path int
	follow    bool   // a symbolic link at the end is followed …
	flags     int    // … unless argument flags
	noFollow  uint64 // has this bit
	size      int    // 0: none
}

func (s naming) read(l *looker, n *notification, o *op.Op) bool {
	follow := s.follow
	if s.noFollow != 0 && n.args[s.flags]&s.noFollow != 0 {
		follow = false
	}
	if s.size != 0 {
		o.Size = argument(n, s.size)
	}
	f, ok := l.named(n, s.dir, s.path, follow)
	o.Path, o.Exists = f.path, f.exists
	return ok
}

// pair is a rename or a hard link: two names.
type pair struct{ dir, path, toDir, toPath int }

func (s pair) read(l *looker, n *notification, o *op.Op) bool {
	from, ok := l.named(n, s.dir, s.path, false)
	to, ok2 := l.named(n, s.toDir, s.toPath, false)
	o.Path, o.To, o.Replaces, o.Exists = from.path, to.path, to.exists, to.exists
	if !inside(o.Path) && inside(o.To) {
		o.Path, o.To = o.To, o.Path
	}
	return ok && ok2
}

// unlinking is unlink, and rmdir in its *at form.
type unlinking struct{ dir, path, flags int }

func (s unlinking) read(l *looker, n *notification, o *op.Op) bool {
	if s.flags != none && n.args[s.flags]&unix.AT_REMOVEDIR != 0 {
		o.Kind = op.Rmdir
	}
	f, ok := l.named(n, s.dir, s.path, false)
	o.Path, o.Exists = f.path, f.exists
	return ok
}

// opening is every form of open. Whether it creates or truncates is decided
// by what is there when the call is trapped: sqlite opens the database that it
// has with O_CREAT.
type opening struct {
	dir, path, flags int
	how              int    // 0, or where struct open_how is
	fixed            uint64 // flags that the call implies
}

func (s opening) read(l *looker, n *notification, o *op.Op) bool {
	flags := s.asked(l, n)
	const exclusive = unix.O_CREAT | unix.O_EXCL
	follow := flags&unix.O_NOFOLLOW == 0 && flags&exclusive != exclusive
	f, ok := l.named(n, s.dir, s.path, follow)
	o.Path, o.Exists, o.Kind, o.Mode = f.path, f.exists, op.Open, modeOf(flags)
	switch {
	case flags&unix.O_TMPFILE == unix.O_TMPFILE:
		o.Kind = op.Create
	case !f.exists && flags&unix.O_CREAT != 0:
		o.Kind = op.Create
	case f.exists && flags&exclusive == exclusive:
		return ok // it will fail
	case f.exists && flags&unix.O_TRUNC != 0 && f.size > 0:
		o.Kind, o.Also, o.Size = op.Truncate, op.Open, 0
	}
	o.Writes = o.Kind == op.Create || flags&(unix.O_ACCMODE|unix.O_TRUNC) != unix.O_RDONLY
	return ok
}

// asked are the flags of an open, as far as they mean anything: with O_PATH
// hardly any does.
func (s opening) asked(l *looker, n *notification) uint64 {
	flags := s.fixed
	if s.flags != none {
		flags = n.args[s.flags]
	} else if s.how != 0 {
		flags = l.word(int(n.tid), n.args[s.how])
	}
	if flags&unix.O_PATH != 0 {
		flags &= unix.O_PATH | unix.O_NOFOLLOW | unix.O_DIRECTORY
	}
	return flags
}

// socket is bind or connect: the path stands in a struct sockaddr_un.
type socket struct {
	addr, size int
	follow     bool
}

func (s socket) read(l *looker, n *notification, o *op.Op) bool {
	const longest = 2 + 108
	size := min(n.args[s.size], longest)
	buf := l.scratch[:size]
	got, errno := peek(int(n.tid), n.args[s.addr], buf)
	if errno != 0 {
		l.blame(int(n.tid), errno)
		return false
	}
	if got < 4 || binary.NativeEndian.Uint16(buf) != unix.AF_UNIX || buf[2] == 0 {
		return false
	}
	f, ok := l.resolve(int(n.tid), unix.AT_FDCWD, untilNul(buf[2:got]), s.follow)
	o.Path, o.Exists = f.path, f.exists
	return ok
}

// locking is flock, or fcntl on a record; releasing is no operation.
type locking struct{ record int }

func (s locking) read(l *looker, n *notification, o *op.Op) bool {
	if o.Hold = s.asked(l, n); o.Hold == 0 {
		return false
	}
	onFile(o, n.args[0])
	return l.descriptor(int(n.tid), n.args[0], &o.Path)
}

// asked is the lock that is to be taken; none where one is given back.
func (s locking) asked(l *looker, n *notification) op.Hold {
	shared, exclusive := n.args[1]&unix.LOCK_SH != 0, n.args[1]&unix.LOCK_EX != 0
	if s.record != 0 {
		kind := int16(l.word(int(n.tid), n.args[s.record]))
		shared, exclusive = kind == unix.F_RDLCK, kind == unix.F_WRLCK
	}
	switch {
	case exclusive:
		return op.Exclusive
	case shared:
		return op.Shared
	}
	return 0
}

// wholeTree is a call without a file: sync.
type wholeTree struct{}

func (wholeTree) read(_ *looker, _ *notification, o *op.Op) bool {
	o.Path = "."
	return true
}

// argument is the value of argument i, or -1.
func argument(n *notification, i int) int64 {
	if i == none {
		return -1
	}
	return int64(n.args[i])
}

// inside reports whether a path as the shim prints it lies in the tree.
func inside(path string) bool { return path != "" && path[0] != '/' }

func untilNul(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
