//go:build unix && !(linux && (amd64 || arm64))

package exit

import (
	"errors"
	"os/signal"
	"syscall"
)

// defaultAction gives s back its default action, as far as the Go runtime allows: it keeps SIGQUIT for itself, and the
// caller then ends with status 128+n, which a shell cannot tell from the death by signal.
func defaultAction(s syscall.Signal) error {
	if s == syscall.SIGQUIT {
		return errors.ErrUnsupported
	}
	signal.Reset(s)
	return nil
}
