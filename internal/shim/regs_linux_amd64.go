package shim

import "golang.org/x/sys/unix"

// entering reports whether regs, at a call's entry stop, are those of the held
// call. The kernel has set rax to -ENOSYS there.
func entering(regs *unix.PtraceRegs, h *held) bool {
	return regs.Orig_rax == uint64(h.nr) && regs.Rip == h.ip && int64(regs.Rax) == -int64(unix.ENOSYS)
}

func result(regs *unix.PtraceRegs) int64       { return int64(regs.Rax) }
func setResult(regs *unix.PtraceRegs, v int64) { regs.Rax = uint64(v) }

// brokenOff reports whether the call was interrupted before it did anything
// and would be restarted: -512 to -516 never reach a program.
func brokenOff(regs *unix.PtraceRegs) bool {
	v := int64(regs.Rax)
	return v <= -512 && v >= -516
}

func stackPointer(regs *unix.PtraceRegs) uint64 { return regs.Rsp }

// narrow reports whether a thread runs a program of 32 bits.
func narrow(regs *unix.PtraceRegs) bool {
	const user32 = 0x23
	return regs.Cs == user32
}

func register(regs *unix.PtraceRegs, i int) *uint64 {
	return [...]*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9}[i]
}

func getArgument(regs *unix.PtraceRegs, i int) uint64    { return *register(regs, i) }
func setArgument(regs *unix.PtraceRegs, i int, v uint64) { *register(regs, i) = v }
