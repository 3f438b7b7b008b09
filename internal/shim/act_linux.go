package shim

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// restartNoIntr is the kernel's -ERESTARTNOINTR: as an answer it makes the call
// come again after whatever interrupts the thread. Without something pending
// the subject would see it as its errno, so it is only given where something is.
const restartNoIntr = -513

// act does to an operation what a rule wants. What can be answered at once is;
// the rest goes on beside the receiving thread.
func (r *Run) act(h *held) {
	switch a := h.action; {
	case a.Verb == rule.DoFail && h.op.Kind != op.Close:
		r.fail(h)
	case a.Verb == rule.DoKill && a.When == rule.Before:
		r.saw(&h.op, Result{Rule: h.rule})
		r.kill(h)
	case a.Verb == rule.DoSignal:
		r.signal(h)
	case a.Verb == rule.DoDelay:
		r.beside(func() { r.delay(h) })
	case a.Verb == rule.DoHold:
		r.beside(func() { r.hold(h) })
	default:
		r.beside(func() { r.perform(h) })
	}
}

func (r *Run) beside(f func()) {
	r.acting.Add(1)
	go func() {
		defer r.acting.Done()
		f()
	}()
}

// fail answers with an error; nothing is done.
func (r *Run) fail(h *held) {
	errno := syscall.Errno(h.action.Errno)
	if r.reply(&response{id: h.id, errno: -int32(errno)}) {
		r.saw(&h.op, Result{Rule: h.rule, Known: true, Errno: errno})
	}
}

// kill ends the whole subject, or the process that called.
func (r *Run) kill(h *held) {
	if h.action.Process {
		_ = unix.Kill(leaderOf(int(h.tid)), unix.SIGKILL)
		return
	}
	r.answer.Lock()
	r.killed, r.byRule = true, true
	r.answer.Unlock()
	r.beside(r.exterminate)
}

// Kill ends every process of the subject. From the instant of the call on no
// operation is answered.
func (r *Run) Kill() {
	r.answer.Lock()
	r.killed = true
	r.answer.Unlock()
	r.exterminate()
}

// signal delivers a signal before the operation: the thread is interrupted and
// the same call comes again after it. Where the signal would not interrupt
// (blocked, ignored), nobody can tell before from after.
func (r *Run) signal(h *held) {
	sig, tid := syscall.Signal(h.action.Signal), int(h.tid)
	pid := leaderOf(tid)
	res := Result{Rule: h.rule}
	if !interrupts(tid, sig) {
		_ = unix.Tgkill(pid, tid, sig)
		r.proceed(&h.notification)
		r.saw(&h.op, res)
		return
	}
	r.expect(h, &encore{proceed: true, args: h.args})
	if err := unix.Tgkill(pid, tid, sig); err == nil {
		r.reply(&response{id: h.id, errno: restartNoIntr})
	}
	r.saw(&h.op, res)
}

func (r *Run) delay(h *held) {
	t := time.NewTimer(h.action.Delay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.ended:
	}
	r.saw(&h.op, Result{Rule: h.rule})
	r.proceed(&h.notification)
}

// holdPoll is how often a held operation looks for its file. The file may
// appear by a rename, in a directory that is yet to be made, or on a file
// system without notices, so it is looked for.
const holdPoll = time.Millisecond

// hold keeps the operation back until a file is there.
func (r *Run) hold(h *held) {
	if mark := h.action.Mark; mark != "" {
		if err := os.WriteFile(r.inTree(mark), nil, 0o666); err != nil {
			r.void("make the mark of %v: %v", h.rule, err)
		}
	}
	tick := time.NewTicker(holdPoll)
	defer tick.Stop()
	until := r.inTree(h.action.Until)
	for {
		if _, err := os.Lstat(until); err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-r.ended:
			return
		}
	}
	r.saw(&h.op, Result{Rule: h.rule})
	r.proceed(&h.notification)
}

func (r *Run) inTree(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.root, path)
}

// encore is a call that was sent back and will come once more from the same
// thread, unless a handler breaks it off.
type encore struct {
	nr      uint32
	ip      uint64
	args    [6]uint64
	proceed bool  // let it go on when it comes, counted as it is already
	held    *held // or do this to it
}

// expect must be called before the answer that sends the call back.
func (r *Run) expect(h *held, e *encore) {
	e.nr, e.ip = h.nr, h.ip
	r.mu.Lock()
	r.again[h.tid] = e
	r.encores.Store(int32(len(r.again)))
	r.mu.Unlock()
}

// repeated deals with a call that comes once more. A signal's handler may make
// calls in between, from the same C library function even: the arguments tell.
func (r *Run) repeated(n *notification) bool {
	if r.encores.Load() == 0 {
		return false
	}
	r.mu.Lock()
	e := r.again[n.tid]
	if e == nil || e.nr != n.nr || e.ip != n.ip || e.args != n.args {
		r.mu.Unlock()
		return false
	}
	delete(r.again, n.tid)
	r.encores.Store(int32(len(r.again)))
	r.mu.Unlock()
	if e.proceed {
		r.proceed(n)
		return true
	}
	e.held.notification = *n
	r.act(e.held)
	return true
}
