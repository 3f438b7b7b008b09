//go:build !unix

package mutant

import (
	"errors"
	"os"
)

var errHeld = errors.New("held")

func processGone(pid int) bool { return false }

func tryFlock(f *os.File) error { return errors.ErrUnsupported }
