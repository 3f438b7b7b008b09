package shim

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/record"
)

// sharedMap is a file that the subject has mapped and can store into without a
// call. Before each event the file is compared with what it held at the last
// one, and what differs becomes a write.
type sharedMap struct {
	fd     int
	path   string
	stores bool // it may be written; else only an mprotect would make it so
	held   []byte
}

const (
	sector    = 512
	mostShown = 64 << 20 // bytes of a file that are compared each time
)

// watch sees calls that are no operations.
func (rec *recorder) watch(c *call, n *notification) {
	switch c.name {
	case "mmap":
		rec.mapped(n)
	case "mprotect":
		rec.compareMaps()
		for _, m := range rec.maps {
			if !m.stores {
				m.stores = true
				m.held = rec.contents(m)
			}
		}
	case "msync":
		rec.msync(n)
	case "io_submit":
		rec.void("%s writes by io_submit, which a record does not cover", programOf(int(n.tid)))
	}
}

func (rec *recorder) mapped(n *notification) {
	own, id, st, ok := rec.borrow(n, n.args[4])
	if !ok {
		return
	}
	defer unix.Close(own)
	flags, _ := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	if id == 0 || st.Mode&unix.S_IFMT != unix.S_IFREG || flags&unix.O_ACCMODE != unix.O_RDWR {
		return
	}
	m := rec.maps[id]
	if m == nil {
		fd, err := unix.Open(selfPath(own), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			rec.void("compare a file that %s maps: %v", programOf(int(n.tid)), err)
			return
		}
		m = &sharedMap{fd: fd}
		rec.run.look.descriptor(int(n.tid), n.args[4], &m.path)
		rec.maps[id] = m
	}
	if n.args[2]&unix.PROT_WRITE != 0 && !m.stores {
		m.stores = true
		m.held = rec.contents(m)
	}
}

func (rec *recorder) contents(m *sharedMap) []byte {
	var st unix.Stat_t
	if err := unix.Fstat(m.fd, &st); err != nil || st.Size > mostShown {
		rec.void("%s is mapped for writing and too large to be compared", m.path)
		return nil
	}
	buf := make([]byte, st.Size)
	for at := 0; at < len(buf); {
		n, err := unix.Pread(m.fd, buf[at:], int64(at))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return buf[:at]
		}
		at += n
	}
	return buf
}

// compareMaps records what was stored into mapped files since the last event.
func (rec *recorder) compareMaps() {
	if len(rec.maps) == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(rec.maps)) {
		if m := rec.maps[id]; m.stores {
			rec.compare(id, m)
		}
	}
}

func (rec *recorder) compare(id record.ID, m *sharedMap) {
	now := rec.contents(m)
	first := len(rec.log.Events)
	for at := 0; at < len(now); at += sector {
		end := min(at+sector, len(now))
		if at < len(m.held) && bytes.Equal(now[at:end], m.held[at:min(end, len(m.held))]) {
			continue
		}
		if at >= len(m.held) && zero(now[at:end]) {
			continue
		}
		rec.emit(record.Event{Kind: record.Write, ID: id, Off: int64(at), Data: now[at:end], Stored: true,
			Op: op.Op{Actor: rec.run.cfg.Actor, Kind: op.Write, Path: m.path, Call: "store", Off: int64(at), Size: int64(end - at)}})
	}
	m.held = now
	for i := first; i < len(rec.log.Events)-1; i++ {
		rec.log.Events[i].More = true
	}
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// shadow and shadowSize keep what is held in step with recorded changes.
func (rec *recorder) shadow(id record.ID, off int64, data []byte) {
	m := rec.maps[id]
	if m == nil || !m.stores {
		return
	}
	if need := off + int64(len(data)); need > int64(len(m.held)) {
		rec.shadowSize(id, need)
	}
	copy(m.held[off:], data)
}

func (rec *recorder) shadowSize(id record.ID, size int64) {
	m := rec.maps[id]
	if m == nil || !m.stores || size > mostShown {
		return
	}
	if size <= int64(len(m.held)) {
		m.held = m.held[:size:size]
		return
	}
	m.held = append(m.held, make([]byte, size-int64(len(m.held)))...)
}

// msync makes what was stored durable.
func (rec *recorder) msync(n *notification) {
	rec.compareMaps()
	if n.args[2]&unix.MS_SYNC == 0 {
		return
	}
	want, ok := mappedAt(int(n.tid), n.args[0])
	if !ok {
		return
	}
	for id, m := range rec.maps {
		var st unix.Stat_t
		if unix.Fstat(m.fd, &st) == nil && st.Ino == want {
			rec.emit(record.Event{Kind: record.Sync, ID: id, DataOnly: true,
				Op: op.Op{Actor: rec.run.cfg.Actor, Kind: op.Sync, Path: m.path, Call: "msync", Off: -1, Size: -1}})
		}
	}
}

// mappedAt is the inode's number of the file that is mapped at an address.
func mappedAt(tid int, addr uint64) (uint64, bool) {
	text, err := os.ReadFile(procDir(tid) + "maps")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		var from, to, off, ino uint64
		var perms, dev string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &from, &to, &perms, &off, &dev, &ino); n == 6 && from <= addr && addr < to {
			return ino, true
		}
	}
	return 0, false
}
