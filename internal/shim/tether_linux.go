package shim

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// tether ties a process group to the supervisor: the kernel kills it when the
// supervisor dies, whoever dies with it. What has left the group is the guard's to
// end, if that lives.
//
// It is a pipe, of which both ends report by a signal, SIGKILL, and to the group,
// that the other one was closed. Nobody else has it, so none is closed while we
// live, and when we die one is before the other.
type tether [2]int

func tie(group int) (*tether, error) {
	var t tether
	if err := unix.Pipe2(t[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe that ends the subject with its supervisor: %w", err)
	}
	for _, end := range t {
		for _, set := range []struct{ cmd, arg int }{
			{unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETOWN, -group}, {unix.F_SETFL, unix.O_ASYNC},
		} {
			if _, err := unix.FcntlInt(uintptr(end), set.cmd, set.arg); err != nil {
				t.cut()
				return nil, fmt.Errorf("let the subject end with its supervisor: %w", err)
			}
		}
	}
	return &t, nil
}

// cut unties, and kills nobody.
func (t *tether) cut() {
	for _, end := range t {
		_, _ = unix.FcntlInt(uintptr(end), unix.F_SETFL, 0)
	}
	for _, end := range t {
		_ = unix.Close(end)
	}
}
