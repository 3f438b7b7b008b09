package shim

import (
	"time"

	"golang.org/x/sys/unix"
)

const vforkCall = unix.SYS_VFORK

// legacyDeadline knows the calls that only amd64 has.
func (s sleep) legacyDeadline(tid int) (time.Duration, bool) {
	switch s.nr {
	case unix.SYS_POLL:
		return milliseconds(s.args[2])
	case unix.SYS_EPOLL_WAIT:
		return milliseconds(s.args[3])
	case unix.SYS_SELECT:
		return timespec(tid, s.args[4]) // a timeval: its microseconds are below a second either way
	}
	return 0, false
}
