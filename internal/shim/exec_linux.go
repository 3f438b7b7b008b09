package shim

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// execs follows a thread into the program that it executes, and hides the vDSO
// from it: where the kernel offers none, every C library, and Go, asks for the
// time by calls, which can be answered.
func (r *Run) execs(c *clockCall, n *notification) {
	h := &held{notification: *n, call: &c.call, follow: (*tracee).exec}
	h.op.Path = "a program whose clock is to be shifted"
	r.beside(func() { r.perform(h) })
}

// exec lets the thread, which is at the start of its execve, make it.
func (t *tracee) exec(h *held) error {
	var regs unix.PtraceRegs
	stop, err := t.make(&regs)
	if err != nil {
		return err
	}
	switch {
	case stop == execStop:
		if err := hideVDSO(t.tid, &regs); err != nil {
			return err
		}
	case stop != callStop || brokenOff(&regs):
		return t.later(h, stop, &regs)
	}
	return gone(detach(t.tid, 0))
}

// hideVDSO takes the address of the vDSO out of what the kernel tells a program
// that is about to begin. Beyond its stack pointer lie the number of arguments,
// these, a null, the environment, a null, and then pairs of a word that says what
// the other one is.
func hideVDSO(tid int, regs *unix.PtraceRegs) error {
	if narrow(regs) {
		return nil // of another architecture, which is found out and said
	}
	const null, ignore, vdso = 0, 1, 33
	w := words{tid: tid, at: stackPointer(regs)}
	arguments := w.next()
	w.at += 8 * (arguments + 1)
	for w.next() != 0 { // the environment
	}
	for w.err == 0 {
		kind := w.at
		switch w.next() {
		case null:
			return nil
		case vdso:
			if errno := pokeWord(tid, kind, ignore); errno != 0 {
				return fmt.Errorf("hide the vDSO from it: %w", errno)
			}
			return nil
		}
		w.next()
	}
	return fmt.Errorf("look for the vDSO, which must be hidden from it (execute-only and non-dumpable programs are not covered): %w", w.err)
}

// words reads a stack upwards, at most a page at a time. After an error there are
// only zeroes.
type words struct {
	tid  int
	at   uint64 // of the next word
	page [4096]byte
	from uint64 // what of the memory page holds: from here …
	held int    // … so many bytes
	err  unix.Errno
}

func (w *words) next() uint64 {
	if w.at-w.from >= uint64(w.held) && w.err == 0 {
		w.from = w.at
		rest := len(w.page) - int(w.at%uint64(len(w.page)))
		w.held, w.err = peek(w.tid, w.at, w.page[:rest])
	}
	if w.err != 0 {
		return 0
	}
	word := binary.NativeEndian.Uint64(w.page[w.at-w.from:])
	w.at += 8
	return word
}

// steady keeps the world from being stopped while the launching thread waits in
// the kernel for its child's exec, which others of ours must follow first: it could
// not be stopped itself. They need processors beside that thread's, too.
func steady() (restore func()) {
	const launcher, receiver, tracer, spare = 1, 1, 1, 1
	procs := runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), launcher+receiver+tracer+spare))
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(math.MaxInt64)
	runtime.GC() // until one that had begun has ended
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
		runtime.GOMAXPROCS(procs)
	}
}
