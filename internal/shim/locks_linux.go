package shim

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const maxOffset = math.MaxInt64

// wanted is a lock that somebody waits for.
type wanted struct {
	tid, fd    int
	class      string // as /proc/locks says: FLOCK, POSIX, OFDLCK
	exclusive  bool
	start, end int64 // bytes, both included
}

// record reads a struct flock of the caller's.
func (w *wanted) record(addr uint64) bool {
	var b [32]byte
	if _, errno := peek(w.tid, addr, b[:]); errno != 0 {
		return false
	}
	kind := int16(binary.NativeEndian.Uint16(b[0:]))
	whence := int16(binary.NativeEndian.Uint16(b[2:]))
	start, length := int64(binary.NativeEndian.Uint64(b[8:])), int64(binary.NativeEndian.Uint64(b[16:]))
	w.exclusive = kind == unix.F_WRLCK
	switch whence {
	case unix.SEEK_CUR:
		start += offsetOf(w.tid, w.fd)
	case unix.SEEK_END:
		var st unix.Stat_t
		_ = unix.Stat(fmt.Sprintf("%sfd/%d", procDir(w.tid), w.fd), &st)
		start += st.Size
	}
	w.start, w.end = start, maxOffset
	if length > 0 {
		w.end = start + length - 1
	} else if length < 0 {
		w.start, w.end = start+length, start-1
	}
	return true
}

func offsetOf(tid, fd int) int64 {
	var at int64
	info, _ := os.ReadFile(fmt.Sprintf("%sfdinfo/%d", procDir(tid), fd))
	_, _ = fmt.Sscanf(string(info), "pos: %d", &at)
	return at
}

// lock is one line of /proc/locks or of a descriptor's fdinfo.
type lock struct {
	class      string
	exclusive  bool
	pid        int
	file       string // major:minor:inode
	start, end int64
}

// parseLock reads "1: FLOCK ADVISORY WRITE 1234 00:2f:99 0 EOF". A line of one
// who waits ("->") is none.
func parseLock(line string) (lock, bool) {
	f := strings.Fields(line)
	if len(f) < 8 || f[1] == "->" {
		return lock{}, false
	}
	l := lock{class: f[1], exclusive: f[3] == "WRITE", file: f[5], end: maxOffset}
	l.pid, _ = strconv.Atoi(f[4])
	l.start, _ = strconv.ParseInt(f[6], 10, 64)
	if end, err := strconv.ParseInt(f[7], 10, 64); err == nil {
		l.end = end
	}
	return l, true
}

// Classes of locks, as /proc/locks says.
const (
	flockLock    = "FLOCK"
	posixLock    = "POSIX"
	openFileLock = "OFDLCK"
)

// obstacle is a lock that conflicts with w, if there is one. Locks that the same
// open file (flock, OFD) or the same process (POSIX) holds are its own, and would
// be converted.
func (w wanted) obstacle() (lock, bool) {
	var st unix.Stat_t
	if unix.Stat(fmt.Sprintf("%sfd/%d", procDir(w.tid), w.fd), &st) != nil {
		return lock{}, false // the call will fail by itself
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	own := w.own()
	text, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(text)) {
		l, ok := parseLock(line)
		if ok && l.file == file && w.conflicts(l) && !own[l] {
			return l, true
		}
	}
	return lock{}, false
}

// conflicts reports whether l keeps w back, whoever owns it. Record locks of both
// kinds see each other; flock sees none of them.
func (w wanted) conflicts(l lock) bool {
	if (w.class == flockLock) != (l.class == flockLock) || !w.exclusive && !l.exclusive {
		return false
	}
	if l.class != flockLock && (l.end < w.start || w.end < l.start) {
		return false
	}
	return !(w.class == posixLock && l.class == posixLock && l.pid == leaderOf(w.tid))
}

// own lists the locks of the open file itself.
func (w wanted) own() map[lock]bool {
	own := make(map[lock]bool)
	locksIn(w.tid, strconv.Itoa(w.fd), own)
	for l := range own {
		if l.class != w.class {
			delete(own, l)
		}
	}
	return own
}

// openLocks lists the locks of all files that a process has open.
func openLocks(pid int) map[lock]bool {
	all := make(map[lock]bool)
	fds, _ := os.ReadDir(procDir(pid) + "fdinfo")
	for _, fd := range fds {
		locksIn(pid, fd.Name(), all)
	}
	return all
}

// locksIn adds the locks of an open file.
func locksIn(tid int, fd string, to map[lock]bool) {
	info, _ := os.ReadFile(procDir(tid) + "fdinfo/" + fd)
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "lock:"); ok {
			if l, ok := parseLock(rest); ok {
				to[l] = true
			}
		}
	}
}

func holder(l lock) string {
	if l.pid <= 0 {
		return "an open file"
	}
	return fmt.Sprintf("%d %s", l.pid, programOf(l.pid))
}
