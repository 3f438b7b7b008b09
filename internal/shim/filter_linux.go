package shim

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data, whose words are in native order: the low
// half of an argument comes first on both machines.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// filter compiles the program that the kernel runs at each of the subject's
// calls: the given ones go to the supervisor, io_uring (whose operations would
// be no calls at all) does not exist, everything else passes. Calls that are
// decided by number alone pass through the kernel's bitmap without running it.
//
// It must be made on the goroutine that installs it.
func filter(calls []call) ([]bpf.RawInstruction, error) {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: nativeArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}, // foreign: seen, and said
		bpf.LoadAbsolute{Off: offNr, Size: 4},
	}
	if foreignFrom != 0 {
		prog = append(prog,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: foreignFrom, SkipTrue: 1},
			bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF})
	}
	prog = append(prog,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_IO_URING_SETUP, SkipFalse: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	for _, c := range append(calls, watched...) {
		prog = append(prog, trap(actions(c))...)
	}
	prog = append(prog, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	raw, err := bpf.Assemble(prog)
	if err != nil {
		return nil, fmt.Errorf("assemble the seccomp filter: %w", err)
	}
	return raw, nil
}

// trap sends one call to the supervisor; the number is in the accumulator.
func trap(c call) []bpf.Instruction {
	notify := bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	if c.test == nil {
		return []bpf.Instruction{
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.nr, SkipFalse: 1},
			notify,
		}
	}
	off := uint32(offArgs + 8*c.test.arg)
	if c.test.high {
		off += 4
	}
	body := []bpf.Instruction{
		bpf.LoadAbsolute{Off: off, Size: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.test.mask},
	}
	listed, other := notify, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	if c.test.none {
		listed, other = other, listed
	}
	for _, v := range c.test.values {
		body = append(body, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, listed)
	}
	body = append(body, other)
	head := bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.nr, SkipFalse: uint8(len(body))}
	return append([]bpf.Instruction{head}, body...)
}
