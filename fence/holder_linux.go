package fence

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func whoLocks(path string) Holder {
	info, err := os.Stat(path)
	if err != nil {
		return Holder{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !ok {
		return Holder{}
	}
	for line := range strings.Lines(string(locks)) {
		if pid, ok := lockedBy(line, info, st); ok {
			return describe(pid)
		}
	}
	return Holder{}
}

// lockedBy reads one line of /proc/locks,
//
//	1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF
//
// The device is the file system's own, which on btrfs and overlayfs is not what
// stat says; there the process's open files decide.
func lockedBy(line string, info os.FileInfo, st *syscall.Stat_t) (pid int, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "FLOCK" {
		return 0, false
	}
	pid, err := strconv.Atoi(f[4])
	if err != nil || pid <= 0 || !strings.HasSuffix(f[5], ":"+strconv.FormatUint(st.Ino, 10)) {
		return 0, false
	}
	dev := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	return pid, f[5] == dev || hasOpen(pid, info)
}

func hasOpen(pid int, info os.FileInfo) bool {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	fds, _ := os.ReadDir(dir)
	for _, fd := range fds {
		if got, err := os.Stat(dir + fd.Name()); err == nil && os.SameFile(got, info) {
			return true
		}
	}
	return false
}

func describe(pid int) Holder {
	h := Holder{Pid: pid}
	// "4711 (name, which may hold spaces and parentheses) S 1 …"
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if open >= 0 && end > open {
		h.Name = string(stat[open+1 : end])
		state := strings.TrimSpace(string(stat[end+1:]))
		h.Stopped = strings.HasPrefix(state, "T") || strings.HasPrefix(state, "t")
	}
	return h
}
