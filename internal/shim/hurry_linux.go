package shim

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hurry lets the calling thread run soon after it is woken, also on a busy
// machine: by short turns, which need no privilege, and ahead of others where
// that is permitted. (In real time each wake-up would cost more, and the calls
// that signals break off would be no fewer.)
func hurry() (ahead bool, restore func()) {
	old, err := unix.SchedGetAttr(0, 0)
	if err != nil || old.Policy != unix.SCHED_NORMAL {
		return false, func() {}
	}
	short := *old
	short.Runtime = 100_000 // ns, the least that the kernel takes
	first := short
	first.Nice = -19
	if ahead = unix.SchedSetAttr(0, &first, 0) == nil; !ahead {
		_ = unix.SchedSetAttr(0, &short, 0)
	}
	return ahead, func() { _ = unix.SchedSetAttr(0, old, 0) }
}

// MayHurry reports whether a receiving thread may run ahead of others.
func MayHurry() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ahead, restore := hurry()
	restore()
	return ahead
}
