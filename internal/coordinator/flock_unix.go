//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package coordinator

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errTaken = errors.New("taken")

// openLock does not follow a link, which would lock and write to a file that
// somebody else chose, nor wait on a fifo.
func openLock(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

func flock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errTaken
		default:
			return err
		}
	}
}
