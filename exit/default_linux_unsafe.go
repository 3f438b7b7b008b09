//go:build linux && (amd64 || arm64)

package exit

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultAction gives s back its default action in the kernel. os/signal.Reset gives it back to the Go runtime, which for
// SIGQUIT exits with status 2 instead of dying of the signal.
func defaultAction(s syscall.Signal) error {
	// struct kernel_sigaction is four words; all zero it is SIG_DFL, without flags and with an empty mask.
	var action [4]uint64
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
