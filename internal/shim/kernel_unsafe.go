//go:build linux

package shim

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif: one call that waits for an answer.
type notification struct {
	id    uint64
	tid   uint32 // the thread, in the supervisor's pid namespace
	flags uint32
	nr    uint32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// install puts the filter on the calling thread and returns its listener,
// close-on-exec. The thread must be one that ends: the filter cannot be taken
// off again.
func install(prog []bpf.RawInstruction) (int, error) {
	fprog := unix.SockFprog{
		Len:    uint16(len(prog)),
		Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(prog))),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// receive waits for the next call.
func receive(fd int, n *notification) unix.Errno {
	*n = notification{}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(n)))
	return errno
}

// send answers a call. ENOENT means that the caller is dead.
func send(fd int, r *response) unix.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(r)))
	return errno
}

// notificationValid reports whether the caller still waits for its answer.
func notificationValid(fd int, id uint64) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_ID_VALID, uintptr(unsafe.Pointer(&id)))
	return errno == 0
}

// wakeInSync asks the kernel to run supervisor and subject on one processor,
// which a round trip gains from (since 6.6; without it all works the same).
func wakeInSync(fd int) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

// readlinkFD reads the link named by a decimal number in directory dir, without
// an allocation.
func readlinkFD(dir, number int, buf []byte) (int, unix.Errno) {
	var name [12]byte
	i := len(name) - 1
	for n := number; ; n /= 10 {
		i--
		name[i] = byte('0' + n%10)
		if n < 10 {
			break
		}
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_READLINKAT, uintptr(dir), uintptr(unsafe.Pointer(&name[i])),
		uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)), 0, 0)
	return int(n), errno
}

// peek reads the subject's memory at addr. A short count without an error
// means that the rest is not mapped.
func peek(tid int, addr uint64, buf []byte) (int, unix.Errno) {
	if len(buf) == 0 {
		return 0, 0
	}
	local := unix.Iovec{Base: unsafe.SliceData(buf)}
	local.SetLen(len(buf))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return int(n), errno
}

// seize traces a thread without stopping it; its call stops tell themselves
// from signals (PTRACE_O_TRACESYSGOOD), and so does an exec.
func seize(tid int) error {
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEEXEC
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, options, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// detach ends the tracing of a stopped thread, delivering sig to it.
func detach(tid int, sig syscall.Signal) error {
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(sig), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// stackRegion is the high word of the addresses on this goroutine's stack.
//
//go:noinline
func stackRegion() uint32 {
	var here byte
	return uint32(uint64(uintptr(unsafe.Pointer(&here))) >> 32)
}
