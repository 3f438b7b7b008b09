package main

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The raw calls leave out what Go's scheduler does around a call that may
// block: it would be timed too.

func pwrite(fd int, p []byte) int {
	n, _, _ := unix.RawSyscall6(unix.SYS_PWRITE64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n)
}

func pread(fd int, p []byte) int {
	n, _, _ := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n)
}

var status unix.Stat_t

func fstat(fd int) bool {
	_, _, errno := unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(&status)), 0)
	return errno == 0
}

// fresh is memory that nothing has touched; when it is used up, it is given
// back.
var fresh struct {
	pages []byte
	next  int
}

// touch makes the kernel hand out one page: what every start of a program is
// made of.
func touch() bool {
	const size = 1 << 22
	page := os.Getpagesize()
	if fresh.pages == nil {
		pages, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil || unix.Madvise(pages, unix.MADV_NOHUGEPAGE) != nil {
			return false
		}
		fresh.pages = pages
	}
	if fresh.next == len(fresh.pages) {
		if unix.Madvise(fresh.pages, unix.MADV_DONTNEED) != nil {
			return false
		}
		fresh.next = 0
	}
	fresh.pages[fresh.next] = 1
	fresh.next += page
	return true
}

// notification and answer are struct seccomp_notif and seccomp_notif_resp.
type notification struct {
	id       uint64
	pid      uint32
	flags    uint32
	nr, arch uint32
	ip       uint64
	args     [6]uint64
}

type answer struct {
	id    uint64
	val   int64
	errno int32
	flags uint32
}

// trapPwrite puts a filter that notifies of pwrite64, and of nothing else, on
// the calling thread, and returns its listener.
func trapPwrite() (int, error) {
	prog := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PWRITE64},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: unsafe.SliceData(prog)}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// continueAll receives and continues, nothing else, until there is nobody left.
func continueAll(listener int) {
	var n notification
	var a answer
	_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
	for {
		n = notification{}
		if _, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			if errno == unix.EINTR {
				continue
			}
			return
		}
		a = answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, _ = unix.RawSyscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}
