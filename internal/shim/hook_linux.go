package shim

import (
	"encoding/binary"
	"errors"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"faultlab/internal/rule"
)

// perform lets the subject make its own call under our eyes, for the faults
// that need it done in part, or done before they strike: short and torn
// operations, a kill after one, a close that fails and has closed. Because the
// thread itself makes the call, its limits, credentials, signals and alignment
// hold, and exactly the bytes that were to land do.
//
// The thread waits for our answer. It is seized and sent back (nothing was done
// yet), stopped on its way, let into the call again with, where the fault is
// short, a smaller count, and caught at the return. Nothing is pending while
// the call runs, so it is not cut short by us, and may block.
func (r *Run) perform(h *held) {
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	t := &tracee{run: r, tid: int(h.tid), renamed: h.follow != nil}
	err := t.enter(h)
	if err == nil && h.follow != nil {
		err = h.follow(t, h)
	} else if err == nil {
		err = t.call(h)
	}
	switch {
	case err == nil || errors.Is(err, errGone):
	case errors.Is(err, errBrokenOff):
	default:
		r.void("follow %s of %s in %s: %v", h.call.name, h.op.Path, programOf(t.tid), err)
		if t.sentBack { // it is stopped somewhere on its way, and nobody's to mend
			go r.Kill()
			_ = t.bury()
			return
		}
		r.proceed(&h.notification)
	}
}

var (
	// errGone: the thread has died, which needs no more handling.
	errGone = errors.New("the thread is gone")
	// errBrokenOff: a signal's handler came first; the call comes again.
	errBrokenOff = errors.New("broken off by a signal")
)

// tracee is a thread that we trace for the length of one call.
type tracee struct {
	run      *Run
	tid      int
	patched  []patch // what to restore in its memory
	renamed  bool    // an exec may give it another number
	sentBack bool    // its call was answered, to come again
	short    bool    // argument countAt was changed from count
	countAt  int
	count    uint64
}

type patch struct {
	addr uint64
	old  []byte
}

// enter brings the thread to the start of its call once more.
func (t *tracee) enter(h *held) error {
	if err := seize(t.tid); err != nil {
		return gone(err)
	}
	if err := unix.PtraceInterrupt(t.tid); err != nil {
		return gone(err)
	}
	t.run.expect(h, &encore{proceed: true, args: h.args})
	if !t.run.reply(&response{id: h.id, errno: restartNoIntr}) {
		return t.bury()
	}
	t.sentBack = true
	for {
		sig, err := t.wait()
		if err != nil {
			return err
		}
		if sig == callStop {
			if there, err := t.at(h); there || err != nil {
				return err
			}
		}
		// The stop that we asked for, a call of a handler's that runs first, or
		// a signal: pass it on.
		if err := unix.PtraceSyscall(t.tid, deliver(sig)); err != nil {
			return gone(err)
		}
	}
}

// Stops that are no signal's delivery.
const (
	execStop  = -2
	callStop  = -1
	eventStop = 0
)

func deliver(stop int) int { return max(stop, 0) }

// wait waits for the thread's next stop: callStop, execStop, eventStop or the number of
// a signal that is about to be delivered.
func (t *tracee) wait() (int, error) {
	var ws unix.WaitStatus
	who, flags := t.tid, unix.WALL
	if t.renamed { // it is this thread's only one
		who, flags = -1, unix.WALL|unix.WNOTHREAD
	}
	for {
		got, err := unix.Wait4(who, &ws, flags, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, gone(err)
		}
		t.tid = got
		break
	}
	if !ws.Stopped() {
		reaped(t.tid, ws)
		return 0, errGone
	}
	switch sig := ws.StopSignal(); {
	case sig == unix.SIGTRAP|0x80:
		return callStop, nil
	case int(ws)>>16 == unix.PTRACE_EVENT_EXEC:
		return execStop, nil
	case int(ws)>>16 != 0:
		return eventStop, nil
	default:
		return int(sig), nil
	}
}

// bury waits for a thread that is being killed, until it is gone.
func (t *tracee) bury() error {
	for {
		if _, err := t.wait(); err != nil {
			return errGone
		}
	}
}

func gone(err error) error {
	if err == unix.ESRCH || err == unix.ECHILD {
		return errGone
	}
	return err
}

// at reports whether the stopped thread is entering the held call.
func (t *tracee) at(h *held) (bool, error) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return false, gone(err)
	}
	for i, arg := range h.args {
		if getArgument(&regs, i) != arg {
			return false, nil
		}
	}
	return entering(&regs, h), nil
}

// call lets the thread, which is at the start of the call, make it, and does
// the rest of the fault at its return.
func (t *tracee) call(h *held) error {
	if err := t.shorten(h); err != nil {
		return err
	}
	var regs unix.PtraceRegs
	stop, err := t.make(&regs)
	if err != nil {
		return err
	}
	if stop != callStop || brokenOff(&regs) {
		return t.later(h, stop, &regs)
	}
	return t.returned(h, &regs)
}

// make lets the thread make its call, and returns how it stopped next, and its
// registers there.
func (t *tracee) make(regs *unix.PtraceRegs) (int, error) {
	if err := unix.PtraceSyscall(t.tid, 0); err != nil {
		return 0, gone(err)
	}
	stop, err := t.wait()
	if err != nil {
		return 0, err
	}
	return stop, gone(unix.PtraceGetRegs(t.tid, regs))
}

// later: a signal came before anything was done. Its handler runs, then the
// call comes again, or fails with EINTR and does not.
func (t *tracee) later(h *held, stop int, regs *unix.PtraceRegs) error {
	if err := t.restore(regs); err != nil {
		return err
	}
	t.run.expect(h, &encore{held: h, args: h.args})
	if err := detach(t.tid, syscall.Signal(deliver(stop))); err != nil {
		return gone(err)
	}
	return errBrokenOff
}

// returned does what is to happen when the call has been made.
func (t *tracee) returned(h *held, regs *unix.PtraceRegs) error {
	if h.action.Verb == rule.DoFail {
		setResult(regs, -int64(h.action.Errno))
	}
	res := Result{Rule: h.rule, Known: true, Value: result(regs)}
	if res.Value < 0 {
		res.Value, res.Errno = 0, syscall.Errno(-res.Value)
	}
	if h.rule != nil {
		t.run.saw(&h.op, res)
	}
	if h.action.Verb == rule.DoKill {
		t.run.kill(h)
		return t.bury()
	}
	if err := t.restore(regs); err != nil {
		return err
	}
	return gone(detach(t.tid, 0))
}

// shorten makes the call that is about to be entered move fewer bytes.
func (t *tracee) shorten(h *held) error {
	if h.action.Verb != rule.DoShort && h.action.When != rule.Mid {
		return nil
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return gone(err)
	}
	count := uint64(h.action.Bytes)
	at := 2
	switch s := h.call.shape.(type) {
	case descriptor:
		at = s.size
	case copying:
		at = s.size
	case vector:
		n, err := t.cut(h, uint64(h.action.Bytes))
		if err != nil {
			return err
		}
		count = n
	}
	t.short, t.countAt, t.count = true, at, getArgument(&regs, at)
	setArgument(&regs, at, count)
	e := &encore{proceed: true, args: h.args}
	e.args[at] = count
	t.run.expect(h, e)
	return gone(unix.PtraceSetRegs(t.tid, &regs))
}

// cut shortens a scattered call to k bytes: the vector in which the last byte
// lies is made shorter in the subject's memory, and its number is returned.
func (t *tracee) cut(h *held, k uint64) (count uint64, err error) {
	spans, errno := vectorsAt(t.tid, h.args[1], h.args[2])
	if errno != 0 {
		return 0, errno
	}
	for i, s := range spans {
		if k > s.size {
			k -= s.size
			continue
		}
		addr := h.args[1] + uint64(i)*iovecSize + 8
		if err := t.poke(addr, k); err != nil {
			return 0, err
		}
		return uint64(i + 1), nil
	}
	return h.args[2], nil
}

// poke overwrites a word through ptrace, which reaches read-only memory too.
func (t *tracee) poke(addr, value uint64) error {
	old := make([]byte, 8)
	if _, err := unix.PtracePeekData(t.tid, uintptr(addr), old); err != nil {
		return gone(err)
	}
	word := binary.NativeEndian.AppendUint64(nil, value)
	if _, err := unix.PtracePokeData(t.tid, uintptr(addr), word); err != nil {
		return gone(err)
	}
	t.patched = append(t.patched, patch{addr, old})
	return nil
}

// restore gives the thread back its registers and memory: compilers rely on a
// call to preserve what it was given.
func (t *tracee) restore(regs *unix.PtraceRegs) error {
	for _, p := range t.patched {
		if _, err := unix.PtracePokeData(t.tid, uintptr(p.addr), p.old); err != nil {
			return gone(err)
		}
	}
	t.patched = nil
	if t.short {
		setArgument(regs, t.countAt, t.count)
	}
	return gone(unix.PtraceSetRegs(t.tid, regs))
}
