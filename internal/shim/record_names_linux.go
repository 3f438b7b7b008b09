package shim

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

// place is a name in a directory, as a call gives it.
type place struct {
	fd    int       // of the directory, O_PATH
	dir   record.ID // 0: not of the record
	given string    // the last element, with the slashes that follow it
	name  string    // without
}

func (at *place) close() { _ = unix.Close(at.fd) }

func (at *place) stat() (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Fstatat(at.fd, at.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// spelled is the path in argument path, from the directory in argument dir, as
// the supervisor can use it.
func (rec *recorder) spelled(p *performing, dir, path int) (string, bool) {
	from := unix.AT_FDCWD
	if dir != none {
		from = int(int32(p.args[dir]))
	}
	name, errno := rec.run.look.text(p.tid, p.args[path])
	if errno != 0 || name == "" {
		return "", false // the call will say so itself
	}
	return rec.run.look.base(p.tid, from, name), true
}

// place opens the directory in which a call makes, moves or removes a name.
func (rec *recorder) place(p *performing, dir, path int) (*place, bool) {
	at, ok := rec.spelled(p, dir, path)
	if !ok {
		return nil, false
	}
	return rec.placeOf(at)
}

func (rec *recorder) placeOf(path string) (*place, bool) {
	trimmed := strings.TrimRight(path, "/")
	cut := strings.LastIndexByte(trimmed, '/')
	if cut < 0 {
		return nil, false
	}
	fd, err := unix.Open(trimmed[:cut+1], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, false // the call fails in the same way
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, false
	}
	return &place{fd: fd, dir: rec.ids[inodeOf(&st)], given: path[cut+1:], name: trimmed[cut+1:]}, true
}

// named opens what a path leads to, for its name only.
func (rec *recorder) named(p *performing, dir, path int, follow bool) (int, record.ID, unix.Stat_t, bool) {
	var st unix.Stat_t
	at, ok := rec.spelled(p, dir, path)
	if !ok {
		return -1, 0, st, false
	}
	flags := unix.O_PATH | unix.O_CLOEXEC
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(at, flags, 0)
	if err != nil {
		return -1, 0, st, false
	}
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, 0, st, false
	}
	return fd, rec.ids[inodeOf(&st)], st, true
}

func selfPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// made records that a name was made for a new object.
func (rec *recorder) made(p *performing, at *place, target string) outcome {
	st, err := at.stat()
	if err != nil {
		rec.void("look at the new %s: %v", p.op.Path, err)
		return outcome{}
	}
	o := rec.born(&st, target)
	rec.emit(record.Event{Kind: record.Entry, Op: *p.op, ID: o.ID, New: o,
		Sets: []record.Set{{Dir: at.dir, Name: at.name, To: o.ID}}})
	return outcome{}
}

// born is a new object. It was not there when the recording began.
func (rec *recorder) born(st *unix.Stat_t, target string) *record.Object {
	rec.next++
	o := &record.Object{ID: rec.next, Mode: st.Mode, Uid: st.Uid, Gid: st.Gid, Target: target}
	rec.ids[inodeOf(st)] = o.ID
	return o
}

func mkdir(rec *recorder, p *performing) outcome {
	s := p.c.shape.(naming)
	return rec.make(p, s.dir, s.path, "", func(at *place) error {
		return unix.Mkdirat(at.fd, at.given, uint32(p.args[s.path+1]))
	})
}

func mknod(rec *recorder, p *performing) outcome {
	s := p.c.shape.(naming)
	return rec.make(p, s.dir, s.path, "", func(at *place) error {
		return unix.Mknodat(at.fd, at.given, uint32(p.args[s.path+1]), int(p.args[s.path+2]))
	})
}

func symlink(rec *recorder, p *performing) outcome {
	s := p.c.shape.(naming)
	target, errno := rec.run.look.text(p.tid, p.args[0])
	if errno != 0 {
		return passed
	}
	return rec.make(p, s.dir, s.path, target, func(at *place) error {
		return unix.Symlinkat(target, at.fd, at.given)
	})
}

// make does what brings forth an object under a new name.
func (rec *recorder) make(p *performing, dir, path int, target string, do func(*place) error) outcome {
	at, ok := rec.place(p, dir, path)
	if !ok {
		return passed
	}
	defer at.close()
	if at.dir == 0 {
		return passed
	}
	rec.umask(p.tid)
	if err := do(at); err != nil {
		return failed(err)
	}
	return rec.made(p, at, target)
}

// bindSocket gives a socket its name from within the directory: the path that we
// would spell is longer than an address may be.
func bindSocket(rec *recorder, p *performing) outcome {
	name, ok := rec.socketName(p)
	if !ok {
		return passed
	}
	at, ok := rec.placeOf(rec.run.look.base(p.tid, unix.AT_FDCWD, name))
	if !ok {
		return passed
	}
	defer at.close()
	if at.dir == 0 {
		return passed
	}
	rec.umask(p.tid)
	own, err := rec.fetch(p.notification.tid, int(int32(p.args[0])))
	if err != nil {
		return passed
	}
	defer unix.Close(own)
	home, err := unix.Open(".", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return passed
	}
	defer unix.Close(home)
	if err := unix.Fchdir(at.fd); err != nil {
		return failed(err)
	}
	err = unix.Bind(own, &unix.SockaddrUnix{Name: at.given})
	_ = unix.Fchdir(home)
	if err != nil {
		return failed(err)
	}
	return rec.made(p, at, "")
}

func (rec *recorder) socketName(p *performing) (string, bool) {
	const family, longest = 2, 2 + 108
	buf := make([]byte, min(p.args[2], longest))
	got, errno := peek(p.tid, p.args[1], buf)
	if errno != 0 || got <= family || buf[family] == 0 {
		return "", false
	}
	return untilNul(buf[family:got]), true
}

func unlink(rec *recorder, p *performing) outcome {
	dir, path, flags := none, 0, 0
	switch p.c.name {
	case "rmdir":
		flags = unix.AT_REMOVEDIR
	case "unlinkat":
		dir, path, flags = 0, 1, int(p.args[2])
	}
	at, ok := rec.place(p, dir, path)
	if !ok {
		return passed
	}
	defer at.close()
	if at.dir == 0 {
		return passed
	}
	st, err := at.stat()
	if err != nil {
		return rec.inVain(p, unix.Unlinkat(at.fd, at.given, flags))
	}
	rec.pinLast(at, &st)
	if err := unix.Unlinkat(at.fd, at.given, flags); err != nil {
		return failed(err)
	}
	rec.emit(record.Event{Kind: record.Entry, Op: *p.op, ID: rec.ids[inodeOf(&st)],
		Sets: []record.Set{{Dir: at.dir, Name: at.name}}})
	return outcome{}
}

// inVain is a call about a name that is not there. It is made all the same, and not
// passed on: by the time that the program made it, another thread may have made the name.
func (rec *recorder) inVain(p *performing, err error) outcome {
	if err == nil {
		rec.void("%s of %s has found what was not there a moment before", p.c.name, p.op.Path)
		return outcome{}
	}
	return failed(err)
}

// pinLast pins what is about to lose its last name.
func (rec *recorder) pinLast(at *place, st *unix.Stat_t) {
	if st.Nlink == 1 || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rec.pin(at.fd, at.name)
	}
}

func link(rec *recorder, p *performing) outcome {
	s := p.c.shape.(pair)
	flags := 0
	if p.c.name == "linkat" {
		flags = int(p.args[4])
	}
	to, ok := rec.place(p, s.toDir, s.toPath)
	if !ok {
		return passed
	}
	defer to.close()
	if to.dir == 0 {
		return passed
	}
	from, id, _, ok := rec.source(p, flags)
	if !ok {
		return rec.linkInVain(p, to, flags)
	}
	defer unix.Close(from)
	if err := unix.Linkat(unix.AT_FDCWD, selfPath(from), to.fd, to.given, unix.AT_SYMLINK_FOLLOW); err != nil {
		return failed(err)
	}
	if id == 0 {
		rec.void("%s links a file from outside into the tree as %s, which a record does not cover", programOf(p.tid), p.op.Path)
		return outcome{}
	}
	rec.emit(record.Event{Kind: record.Entry, Op: *p.op, ID: id,
		Sets: []record.Set{{Dir: to.dir, Name: to.name, To: id}}})
	return outcome{}
}

// linkInVain makes a link of what cannot be opened.
func (rec *recorder) linkInVain(p *performing, to *place, flags int) outcome {
	s := p.c.shape.(pair)
	from, ok := rec.place(p, s.dir, s.path)
	if !ok {
		return passed
	}
	defer from.close()
	return rec.inVain(p, unix.Linkat(from.fd, from.given, to.fd, to.given, flags))
}

// source opens what a link is made of.
func (rec *recorder) source(p *performing, flags int) (int, record.ID, unix.Stat_t, bool) {
	s := p.c.shape.(pair)
	if flags&unix.AT_EMPTY_PATH != 0 {
		if name, errno := rec.run.look.text(p.tid, p.args[s.path]); errno == 0 && name == "" {
			return rec.borrow(p.notification, p.args[s.dir])
		}
	}
	return rec.named(p, s.dir, s.path, flags&unix.AT_SYMLINK_FOLLOW != 0)
}

func rename(rec *recorder, p *performing) outcome {
	s := p.c.shape.(pair)
	flags := uint(0)
	if p.c.name == "renameat2" {
		flags = uint(p.args[4])
	}
	from, ok := rec.place(p, s.dir, s.path)
	if !ok {
		return passed
	}
	defer from.close()
	to, ok := rec.place(p, s.toDir, s.toPath)
	if !ok {
		return passed
	}
	defer to.close()
	if from.dir == 0 && to.dir == 0 {
		return passed
	}
	st, err := from.stat()
	if err != nil {
		return rec.inVain(p, unix.Renameat2(from.fd, from.given, to.fd, to.given, flags))
	}
	if flags&unix.RENAME_WHITEOUT != 0 {
		rec.void("%s leaves a whiteout behind, which a record does not cover", p.op.Path)
		return passed
	}
	return rec.move(p, from, to, &st, flags)
}

func (rec *recorder) move(p *performing, from, to *place, st *unix.Stat_t, flags uint) outcome {
	id := rec.ids[inodeOf(st)]
	old, gone := to.stat()
	e := record.Event{Kind: record.Entry, Op: *p.op, ID: id}
	if gone == nil {
		e.Replaces = rec.ids[inodeOf(&old)]
		if flags&unix.RENAME_EXCHANGE == 0 {
			rec.pinLast(to, &old)
		}
	}
	if err := unix.Renameat2(from.fd, from.given, to.fd, to.given, flags); err != nil {
		return failed(err)
	}
	if id == 0 || from.dir == 0 {
		rec.void("%s moves a file from outside into the tree as %s, which a record does not cover", programOf(p.tid), p.op.Path)
		return outcome{}
	}
	if e.Replaces == id {
		return outcome{} // two names of one file: nothing is done
	}
	left := record.Set{Dir: from.dir, Name: from.name}
	if flags&unix.RENAME_EXCHANGE != 0 {
		left.To, e.Replaces = e.Replaces, 0
	}
	e.Sets = append(e.Sets, left)
	if to.dir != 0 {
		e.Sets = append(e.Sets, record.Set{Dir: to.dir, Name: to.name, To: id})
	}
	rec.emit(e)
	return outcome{}
}
