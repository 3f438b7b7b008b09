package rule

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's own table, as x/sys has it, is the witness for both of ours.
func TestTablesAreLinux(t *testing.T) {
	aliases := map[string]bool{"EWOULDBLOCK": true, "ENOTSUP": true, "EFSCORRUPTED": true}
	for n := 1; n < 200; n++ {
		if want := unix.ErrnoName(syscall.Errno(n)); want != "" && !aliases[want] && Errno(n).String() != want {
			t.Errorf("errno %d is %s, want %s", n, Errno(n), want)
		}
	}
	for n := 1; n <= 31; n++ {
		if want := unix.SignalName(syscall.Signal(n)); Signal(n).String() != want {
			t.Errorf("signal %d is %s, want %s", n, Signal(n), want)
		}
	}
	for name, n := range map[string]Errno{"EWOULDBLOCK": Errno(unix.EWOULDBLOCK),
		"EDEADLOCK": Errno(unix.EDEADLOCK), "ENOTSUP": Errno(unix.ENOTSUP), "EAGAIN": Errno(unix.EAGAIN)} {
		if got, ok := ParseErrno(name); !ok || got != n {
			t.Errorf("%s is %d, want %d", name, got, n)
		}
	}
}
