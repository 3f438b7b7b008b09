//go:build linux && amd64

package shim

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// stackRegions are the high words of the addresses on this thread's stacks: the
// goroutine's, and where the C library is linked the one that it gave the thread,
// which ends at the thread's control block.
func stackRegions() []uint32 {
	regions := []uint32{stackRegion()}
	const getFS, stackSize = 0x1003, 64 << 20
	var top uint64
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, getFS, uintptr(unsafe.Pointer(&top)), 0); errno == 0 && top != 0 {
		regions = append(regions, uint32(top>>32), uint32((top-stackSize)>>32))
	}
	return regions
}
