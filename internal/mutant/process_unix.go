//go:build unix

package mutant

import (
	"errors"
	"os"
	"syscall"
)

var errHeld = errors.New("held")

func processGone(pid int) bool { return syscall.Kill(pid, 0) == syscall.ESRCH }

func tryFlock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return errHeld
	}
	return err
}
