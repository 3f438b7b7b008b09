package shim

import (
	"encoding/binary"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchCall takes note of a call that is no operation.
func (r *Run) watchCall(c *call, n *notification) {
	switch c.name {
	case "mmap":
		r.watchMap(n)
	case "mprotect":
		for _, path := range r.shared {
			r.noteMapped(path)
		}
	case "msync":
		r.note("%s syncs a map (msync), which no rule on sync can reach", programOf(int(n.tid)))
	case "io_submit":
		r.note("%s reads or writes by io_submit, which is not seen", programOf(int(n.tid)))
	case "seccomp", "prctl":
		r.note("%s installs a filter of its own: calls that it refuses itself are not seen", programOf(int(n.tid)))
	case "rt_sigaction":
		var act [16]byte // handler and flags, the first words of the kernel's struct
		if _, errno := peek(int(n.tid), n.args[1], act[:]); errno == 0 {
			r.breaks.handler(int(n.tid), syscall.Signal(n.args[0]),
				binary.NativeEndian.Uint64(act[:]), binary.NativeEndian.Uint64(act[8:]))
		}
	case "tgkill":
		r.breaks.sent(syscall.Signal(n.args[2]))
	default: // kill, tkill
		r.breaks.sent(syscall.Signal(n.args[1]))
	}
}

// watchMap notes files that can be written without a call, and keeps those that
// an mprotect would make so.
func (r *Run) watchMap(n *notification) {
	var path string
	if !r.look.descriptor(int(n.tid), n.args[4], &path) || !inside(path) {
		return
	}
	if n.args[2]&unix.PROT_WRITE != 0 {
		r.noteMapped(path)
	} else if len(r.shared) < maxSaid && !slices.Contains(r.shared, path) {
		r.shared = append(r.shared, path)
	}
}

func (r *Run) noteMapped(path string) {
	r.note("%s is mapped for writing: what is stored through the map is not seen", path)
}
