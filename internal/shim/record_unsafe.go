//go:build linux

package shim

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addfd is struct seccomp_notif_addfd.
type addfd struct {
	id       uint64
	flags    uint32
	srcfd    uint32
	newfd    uint32
	newflags uint32
}

// addDescriptor puts our descriptor fd into the process whose call waits, under
// the lowest free number.
func addDescriptor(listener int, id uint64, fd int, flags uint32) (int, unix.Errno) {
	a := addfd{id: id, srcfd: uint32(fd), newflags: flags}
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_ADDFD, uintptr(unsafe.Pointer(&a)))
	return int(n), errno
}

// pokeWord writes a word into the subject's memory.
func pokeWord(tid int, addr uint64, v int64) unix.Errno {
	var buf [8]byte
	binary.NativeEndian.PutUint64(buf[:], uint64(v))
	return pokeBytes(tid, addr, buf[:])
}

// pokeBytes writes into the subject's memory, where the subject itself could.
func pokeBytes(tid int, addr uint64, buf []byte) unix.Errno {
	local := unix.Iovec{Base: unsafe.SliceData(buf)}
	local.SetLen(len(buf))
	remote := unix.RemoteIovec{Base: uintptr(addr), Len: len(buf)}
	_, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(tid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return errno
}
