package shim

import "golang.org/x/sys/unix"

// entering reports whether regs, at a call's entry stop, are those of the held
// call: x8 holds the number, and x7 is 0 at an entry (1 at a return).
func entering(regs *unix.PtraceRegs, h *held) bool {
	return regs.Regs[8] == uint64(h.nr) && regs.Pc == h.ip && regs.Regs[7] == 0
}

func result(regs *unix.PtraceRegs) int64       { return int64(regs.Regs[0]) }
func setResult(regs *unix.PtraceRegs, v int64) { regs.Regs[0] = uint64(v) }

// brokenOff reports whether the call was interrupted before it did anything
// and would be restarted: -512 to -516 never reach a program.
func brokenOff(regs *unix.PtraceRegs) bool {
	v := int64(regs.Regs[0])
	return v <= -512 && v >= -516
}

func getArgument(regs *unix.PtraceRegs, i int) uint64    { return regs.Regs[i] }
func setArgument(regs *unix.PtraceRegs, i int, v uint64) { regs.Regs[i] = v }

func stackPointer(regs *unix.PtraceRegs) uint64 { return regs.Sp }

// narrow reports whether a thread runs a program of 32 bits.
func narrow(regs *unix.PtraceRegs) bool {
	const mode32 = 0x10
	return regs.Pstate&mode32 != 0
}
