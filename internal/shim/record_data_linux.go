package shim

import (
	"golang.org/x/sys/unix"

	"faultlab/internal/record"
)

type performer func(*recorder, *performing) outcome

// performers are the calls that a recorder makes itself.
var performers map[string]performer

func init() { // they refer to themselves by way of RecordCalls
	performers = map[string]performer{
		"write": write, "pwrite64": write, "writev": write, "pwritev": write, "pwritev2": write,
		"sendfile": transfer, "copy_file_range": transfer, "splice": noSplice, "ioctl": noClone,
		"ftruncate": ftruncate, "truncate": truncatePath, "fallocate": fallocate,
		"fsync": syncFile, "fdatasync": syncFile, "sync": syncAll, "syncfs": syncAll,

		"open": open, "openat": open, "openat2": open, "creat": open,
		"mkdir": mkdir, "mkdirat": mkdir, "mknod": mknod, "mknodat": mknod,
		"symlink": symlink, "symlinkat": symlink, "bind": bindSocket,
		"link": link, "linkat": link, "unlink": unlink, "unlinkat": unlink, "rmdir": unlink,
		"rename": rename, "renameat": rename, "renameat2": rename,

		"chmod": attrPath, "fchmodat": attrPath, "fchmodat2": attrPath, "fchmod": attrFile,
		"chown": attrPath, "lchown": attrPath, "fchownat": attrPath, "fchown": attrFile,
		"setxattr": attrPath, "lsetxattr": attrPath, "fsetxattr": attrFile,
		"removexattr": attrPath, "lremovexattr": attrPath, "fremovexattr": attrFile,
	}
}

// sink is the file that a write goes to.
type sink struct {
	fd    int
	id    record.ID
	say   bool
	st    unix.Stat_t
	flags int
}

// sink borrows the target of a write, if it is ours.
func (rec *recorder) sink(p *performing, fd uint64) (sink, bool) {
	own, id, st, ok := rec.borrow(p.notification, fd)
	if !ok {
		return sink{}, false
	}
	s := sink{fd: own, id: id, st: st, say: inodeOf(&st) == rec.stdout}
	if id == 0 && !s.say || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(own)
		return sink{}, false
	}
	s.flags, _ = unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	return s, true
}

// write is every form of writing from memory.
func write(rec *recorder, p *performing) outcome {
	s, ok := rec.sink(p, p.args[0])
	if !ok {
		return passed
	}
	defer unix.Close(s.fd)
	data, ok := rec.gather(p)
	if !ok {
		return passed
	}
	off, rwf := int64(-1), 0
	switch p.c.name {
	case "pwrite64", "pwritev":
		off = int64(p.args[3])
	case "pwritev2":
		off, rwf = int64(p.args[3]), int(p.args[5])
	}
	if off < -1 || off == -1 && (p.c.name == "pwrite64" || p.c.name == "pwritev") {
		return passed // EINVAL
	}
	return rec.store(p, &s, data, off, rwf)
}

// rwfAppend is RWF_APPEND, the others make the write durable.
const (
	rwfDsync  = 0x2
	rwfSync   = 0x4
	rwfAppend = 0x10
)

// store writes data where the call wants it, and records what landed.
func (rec *recorder) store(p *performing, s *sink, data []byte, off int64, rwf int) outcome {
	at := off
	if s.flags&unix.O_APPEND != 0 || rwf&rwfAppend != 0 {
		at = s.st.Size
	} else if off < 0 {
		at, _ = unix.Seek(s.fd, 0, unix.SEEK_CUR)
	}
	n, err := writeAll(s, data, off, rwf, p.args[1])
	if err != nil {
		return failed(err)
	}
	if n == 0 {
		return outcome{}
	}
	rec.wrote(p, s, data[:n], at)
	return outcome{value: int64(n)}
}

func (rec *recorder) wrote(p *performing, s *sink, data []byte, at int64) {
	if s.say {
		rec.emit(record.Event{Kind: record.Say, Op: *p.op, Data: data})
		return
	}
	rec.emit(record.Event{Kind: record.Write, Op: *p.op, ID: s.id, Off: at, Data: data})
	rec.shadow(s.id, at, data)
	if s.st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		rec.attr(p, s.id, s.fd, nil) // a write takes these bits off
	}
	if s.flags&unix.O_DSYNC != 0 || p.c.name == "pwritev2" && p.args[5]&(rwfDsync|rwfSync) != 0 {
		whole := s.flags&unix.O_SYNC == unix.O_SYNC || p.c.name == "pwritev2" && p.args[5]&rwfSync != 0
		rec.emit(record.Event{Kind: record.Sync, Op: *p.op, ID: s.id, DataOnly: !whole})
	}
}

// gather copies what a write would write out of the subject's memory.
func (rec *recorder) gather(p *performing) ([]byte, bool) {
	spans := []span{{p.args[1], p.args[2]}}
	if _, vectored := p.c.shape.(vector); vectored {
		var errno unix.Errno
		if spans, errno = vectorsAt(p.tid, p.args[1], p.args[2]); errno != 0 {
			return nil, false
		}
	}
	var total uint64
	for _, s := range spans {
		total += s.size
	}
	if total > maxRecordedBytes {
		rec.end("the program writes more than %d MiB at once, which no record is kept of: give it less to do", maxRecordedBytes>>20)
		return nil, false
	}
	data := make([]byte, 0, total)
	for _, s := range spans {
		buf := data[len(data) : len(data)+int(s.size)]
		n, errno := peek(p.tid, s.base, buf)
		if errno != 0 {
			return data, len(data) > 0 || s.size == 0
		}
		data = data[:len(data)+n]
		if n < len(buf) {
			break // the rest is not there: the kernel, too, would stop here
		}
	}
	return data, true
}

// writeAll makes the call. Direct writes want memory that is aligned as the
// subject's was.
func writeAll(s *sink, data []byte, off int64, rwf int, addr uint64) (int, error) {
	if s.flags&unix.O_DIRECT != 0 && len(data) > 0 {
		const page = 4096
		buf, err := unix.Mmap(-1, 0, len(data)+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return 0, err
		}
		defer unix.Munmap(buf)
		aligned := buf[addr%page:][:len(data)]
		copy(aligned, data)
		data = aligned
	}
	for {
		n, err := 0, error(nil)
		switch {
		case rwf != 0:
			n, err = unix.Pwritev2(s.fd, [][]byte{data}, off, rwf)
		case off >= 0:
			n, err = unix.Pwrite(s.fd, data, off)
		default:
			n, err = unix.Write(s.fd, data)
		}
		if err != unix.EINTR { // ours, not the subject's
			return n, err
		}
	}
}

// transfer is sendfile and copy_file_range: read here and written there.
func transfer(rec *recorder, p *performing) outcome {
	shape := p.c.shape.(copying)
	s, ok := rec.sink(p, p.args[shape.to])
	if !ok {
		return passed
	}
	defer unix.Close(s.fd)
	if s.flags&unix.O_APPEND != 0 {
		return passed // it fails
	}
	from, _, st, ok := rec.borrow(p.notification, p.args[shape.from])
	if !ok {
		return passed
	}
	defer unix.Close(from)
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return outcome{errno: unix.EINVAL} // a caller falls back to read and write
	}
	in := rec.offset(p, p.args[shape.offset], from)
	size := st.Size - in
	if size > 0 { // what is asked for can be all that a file may ever hold
		size = int64(min(p.args[shape.size], uint64(size)))
	}
	if size <= 0 {
		return outcome{}
	}
	if size > maxRecordedBytes {
		size = maxRecordedBytes // it asks again, and is told then
	}
	data := make([]byte, size)
	n, err := unix.Pread(from, data, in)
	if err != nil {
		return failed(err)
	}
	off := int64(-1)
	outPointer := uint64(0)
	if p.c.name == "copy_file_range" {
		if outPointer = p.args[3]; outPointer != 0 {
			off = int64(rec.run.look.word(p.tid, outPointer))
		}
	}
	got := rec.store(p, &s, data[:n], off, 0)
	if got.value > 0 {
		rec.advance(p, p.args[shape.offset], from, in+got.value)
		if outPointer != 0 {
			rec.pokeWord(p, outPointer, off+got.value)
		}
	}
	return got
}

// offset is where a copy reads: what the pointer leads to, or the file's own.
func (rec *recorder) offset(p *performing, pointer uint64, fd int) int64 {
	if pointer != 0 {
		return int64(rec.run.look.word(p.tid, pointer))
	}
	at, _ := unix.Seek(fd, 0, unix.SEEK_CUR)
	return at
}

func (rec *recorder) advance(p *performing, pointer uint64, fd int, at int64) {
	if pointer != 0 {
		rec.pokeWord(p, pointer, at)
		return
	}
	_, _ = unix.Seek(fd, at, unix.SEEK_SET)
}

func (rec *recorder) pokeWord(p *performing, addr uint64, v int64) {
	if errno := pokeWord(p.tid, addr, v); errno != 0 {
		rec.void("write an offset back to %s: %v", programOf(p.tid), errno)
	}
}

// noSplice refuses to move pages from a pipe into a file of ours: callers fall
// back to read and write.
func noSplice(rec *recorder, p *performing) outcome { return rec.refuse(p, p.args[2], unix.EINVAL) }

// noClone refuses to share blocks, as a file system does that cannot.
func noClone(rec *recorder, p *performing) outcome { return rec.refuse(p, p.args[0], unix.EOPNOTSUPP) }

func (rec *recorder) refuse(p *performing, fd uint64, errno unix.Errno) outcome {
	s, ok := rec.sink(p, fd)
	if !ok {
		return passed
	}
	_ = unix.Close(s.fd)
	return outcome{errno: errno}
}

func ftruncate(rec *recorder, p *performing) outcome {
	s, ok := rec.sink(p, p.args[0])
	if !ok {
		return passed
	}
	defer unix.Close(s.fd)
	if s.say {
		return passed
	}
	size := int64(p.args[1])
	if err := unix.Ftruncate(s.fd, size); err != nil {
		return failed(err)
	}
	rec.resized(p, s.id, &s.st, size)
	return outcome{}
}

func truncatePath(rec *recorder, p *performing) outcome {
	fd, id, st, ok := rec.named(p, none, 0, true)
	if !ok {
		return passed
	}
	defer unix.Close(fd)
	if id == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return passed
	}
	size := int64(p.args[1])
	if err := unix.Truncate(selfPath(fd), size); err != nil {
		return failed(err)
	}
	rec.resized(p, id, &st, size)
	return outcome{}
}

func (rec *recorder) resized(p *performing, id record.ID, before *unix.Stat_t, size int64) {
	if size == before.Size {
		return
	}
	rec.emit(record.Event{Kind: record.Size, Op: *p.op, ID: id, Size: size})
	rec.shadowSize(id, size)
}

func fallocate(rec *recorder, p *performing) outcome {
	s, ok := rec.sink(p, p.args[0])
	if !ok {
		return passed
	}
	defer unix.Close(s.fd)
	mode, off, size := uint32(p.args[1]), int64(p.args[2]), int64(p.args[3])
	const known = unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^known != 0 {
		rec.void("%s of %s moves what is in a file (fallocate mode %#x), which a record does not cover", p.c.name, p.op.Path, mode)
		return passed
	}
	if err := unix.Fallocate(s.fd, mode, off, size); err != nil {
		return failed(err)
	}
	end := off + size
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 && end > s.st.Size {
		rec.resized(p, s.id, &s.st, end)
		s.st.Size = end
	}
	if n := min(end, s.st.Size) - off; n > 0 && mode&^unix.FALLOC_FL_KEEP_SIZE != 0 {
		rec.emit(record.Event{Kind: record.Write, Op: *p.op, ID: s.id, Off: off, Zeros: n, Keeps: true})
		rec.shadow(s.id, off, make([]byte, n))
	}
	return outcome{}
}

// syncFile notes what a sync promises. There is nothing to be done: the copy in
// which the subject runs goes away.
func syncFile(rec *recorder, p *performing) outcome {
	fd, id, st, ok := rec.borrow(p.notification, p.args[0])
	if !ok {
		return passed
	}
	_ = unix.Close(fd)
	kind := st.Mode & unix.S_IFMT
	if id == 0 || kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return passed
	}
	rec.emit(record.Event{Kind: record.Sync, Op: *p.op, ID: id, DataOnly: p.c.name == "fdatasync"})
	return outcome{}
}

func syncAll(rec *recorder, p *performing) outcome {
	if p.c.name == "syncfs" {
		fd, id, _, ok := rec.borrow(p.notification, p.args[0])
		if !ok {
			return passed
		}
		_ = unix.Close(fd)
		if id == 0 {
			return passed
		}
	}
	rec.emit(record.Event{Kind: record.SyncAll, Op: *p.op})
	return outcome{}
}
