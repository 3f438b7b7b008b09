package shim

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// openCall is what an open asks for.
type openCall struct {
	flags   int
	mode    uint32
	resolve uint64 // of openat2
	at      string // the path, as we can use it
}

// open is every open that creates or truncates. Our descriptor is handed over and
// closed before the answer: while we held a copy, an exec of the file would fail.
func open(rec *recorder, p *performing) outcome {
	c, ok := rec.openCall(p)
	const changes = unix.O_CREAT | unix.O_TRUNC
	if !ok || c.flags&unix.O_PATH != 0 || c.flags&changes == 0 && c.flags&unix.O_TMPFILE != unix.O_TMPFILE {
		return passed
	}
	if c.flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return rec.openNameless(p, c)
	}
	at, st, found := rec.target(c)
	if at == nil {
		return passed
	}
	defer at.close()
	switch {
	case found && inodeOf(&st) == rec.stdout:
		// What was said before must stay: a terminal is not truncated either.
		return rec.handOver(p, c, at, c.flags&^(unix.O_TRUNC|unix.O_EXCL)|unix.O_APPEND, &st)
	case found && (rec.ids[inodeOf(&st)] == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG):
		return passed
	case !found && at.dir == 0:
		return passed
	case c.resolve != 0:
		rec.void("%s opens %s by openat2 with RESOLVE flags, which a record does not cover", programOf(p.tid), p.op.Path)
		return passed
	}
	var before *unix.Stat_t
	if found {
		before = &st
	}
	return rec.handOver(p, c, at, c.flags, before)
}

func (rec *recorder) openCall(p *performing) (openCall, bool) {
	s := p.c.shape.(opening)
	c := openCall{flags: int(s.fixed)}
	switch {
	case s.how != 0:
		c.flags = int(rec.run.look.word(p.tid, p.args[s.how]))
		c.mode = uint32(rec.run.look.word(p.tid, p.args[s.how]+8))
		c.resolve = rec.run.look.word(p.tid, p.args[s.how]+16)
	case s.flags != none:
		c.flags, c.mode = int(int32(p.args[s.flags])), uint32(p.args[s.flags+1])
	default:
		c.mode = uint32(p.args[1])
	}
	var ok bool
	c.at, ok = rec.spelled(p, s.dir, s.path)
	return c, ok
}

// target follows links to the name that the call opens or makes. Links of /proc
// lead to open files and not to names.
func (rec *recorder) target(c openCall) (*place, unix.Stat_t, bool) {
	const exclusive = unix.O_CREAT | unix.O_EXCL
	follow := c.flags&unix.O_NOFOLLOW == 0 && c.flags&exclusive != exclusive
	path := c.at
	for range maxLinks {
		at, ok := rec.placeOf(path)
		if !ok {
			return nil, unix.Stat_t{}, false
		}
		st, err := at.stat()
		if err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK || !follow {
			return at, st, err == nil
		}
		if onProc(at.fd) {
			err := unix.Fstatat(at.fd, at.name, &st, 0)
			return at, st, err == nil
		}
		path = rec.follow(at)
		defer at.close() // path goes by way of its descriptor
	}
	return nil, unix.Stat_t{}, false
}

func (rec *recorder) follow(at *place) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at.fd, at.name, buf)
	if err != nil {
		return ""
	}
	if target := string(buf[:n]); filepath.IsAbs(target) {
		return target
	}
	return selfPath(at.fd) + "/" + string(buf[:n])
}

func onProc(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.PROC_SUPER_MAGIC
}

// handOver opens and gives the subject the descriptor. Before is what stood there.
func (rec *recorder) handOver(p *performing, c openCall, at *place, flags int, before *unix.Stat_t) outcome {
	rec.umask(p.tid)
	fd, err := unix.Openat(at.fd, at.given, flags|unix.O_CLOEXEC, c.mode)
	if err != nil {
		return failed(err)
	}
	if before == nil {
		rec.made(p, at, "")
	} else if flags&unix.O_TRUNC != 0 {
		rec.resized(p, rec.ids[inodeOf(before)], before, 0)
	}
	return rec.give(p, fd, c.flags)
}

// give puts our descriptor into the subject and closes it.
func (rec *recorder) give(p *performing, fd, flags int) outcome {
	theirs, errno := addDescriptor(rec.run.listener, p.id, fd, uint32(flags)&unix.O_CLOEXEC)
	_ = unix.Close(fd)
	if errno != 0 {
		return outcome{errno: errno}
	}
	return outcome{value: int64(theirs)}
}

// openNameless is O_TMPFILE: a file without a name, which a link may give it.
func (rec *recorder) openNameless(p *performing, c openCall) outcome {
	dir, err := unix.Open(c.at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return passed
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || rec.ids[inodeOf(&st)] == 0 {
		return passed
	}
	rec.umask(p.tid)
	fd, err := unix.Openat(dir, ".", c.flags|unix.O_CLOEXEC, c.mode)
	if err != nil {
		return failed(err)
	}
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return failed(err)
	}
	o := rec.born(&st, "")
	rec.emit(record.Event{Kind: record.Entry, Op: *p.op, ID: o.ID, New: o})
	return rec.give(p, fd, c.flags)
}

// attrPath and attrFile change attributes.
func attrPath(rec *recorder, p *performing) outcome {
	s := p.c.shape.(naming)
	follow := s.follow
	if s.noFollow != 0 && p.args[s.flags]&^s.noFollow != 0 {
		return passed // an empty path
	}
	if s.noFollow != 0 && p.args[s.flags] != 0 {
		follow = false
	}
	fd, id, _, ok := rec.named(p, s.dir, s.path, follow)
	if !ok {
		return passed
	}
	defer unix.Close(fd)
	return rec.change(p, fd, id, s.path+1)
}

func attrFile(rec *recorder, p *performing) outcome {
	fd, id, _, ok := rec.borrow(p.notification, p.args[0])
	if !ok {
		return passed
	}
	defer unix.Close(fd)
	return rec.change(p, fd, id, 1)
}

// change applies the call whose further arguments begin at arg.
func (rec *recorder) change(p *performing, fd int, id record.ID, arg int) outcome {
	if id == 0 {
		return passed
	}
	var x *record.Xattr
	var err error
	switch p.c.name {
	case "chmod", "fchmod", "fchmodat":
		err = unix.Chmod(selfPath(fd), uint32(p.args[arg]))
	case "fchmodat2":
		if p.args[3] != 0 {
			return passed
		}
		err = unix.Chmod(selfPath(fd), uint32(p.args[arg]))
	case "chown", "lchown", "fchown", "fchownat":
		err = unix.Fchownat(fd, "", int(int32(p.args[arg])), int(int32(p.args[arg+1])), unix.AT_EMPTY_PATH)
	default:
		if x, err = rec.xattr(p, fd, arg); x == nil && err == nil {
			return passed
		}
	}
	if err != nil {
		return failed(err)
	}
	rec.attr(p, id, fd, x)
	return outcome{}
}

// xattr sets or removes an extended attribute.
func (rec *recorder) xattr(p *performing, fd, arg int) (*record.Xattr, error) {
	name, errno := rec.run.look.text(p.tid, p.args[arg])
	if errno != 0 {
		return nil, nil
	}
	switch p.c.name {
	case "removexattr", "lremovexattr", "fremovexattr":
		return &record.Xattr{Name: name, Removed: true}, unix.Removexattr(selfPath(fd), name)
	}
	value := make([]byte, min(p.args[arg+2], 64<<10))
	if got, errno := peek(p.tid, p.args[arg+1], value); errno != 0 || got < len(value) {
		return nil, nil
	}
	return &record.Xattr{Name: name, Value: value}, unix.Setxattr(selfPath(fd), name, value, int(p.args[arg+3]))
}

// attr records the attributes that a file has now.
func (rec *recorder) attr(p *performing, id record.ID, fd int, x *record.Xattr) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		rec.void("look at %s: %v", p.op.Path, err)
		return
	}
	rec.emit(record.Event{Kind: record.Attr, Op: *p.op, ID: id, Mode: st.Mode, Uid: st.Uid, Gid: st.Gid, Xattr: x})
}
