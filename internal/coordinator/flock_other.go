//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package coordinator

import (
	"errors"
	"os"
)

var errTaken = errors.New("taken")

func openLock(string) (*os.File, error) {
	return nil, errors.New("this system has no flock, so serve does not run here")
}

func flock(*os.File) error { return errors.ErrUnsupported }
