package shim

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
)

// Gate holds operations back until somebody lets them go, one by one: it is how
// the order of several subjects' operations is chosen.
type Gate interface {
	// Arrived is told of an operation before it is decided. True takes it: the
	// operation waits for the ticket's Go. It is called on the receiving thread
	// and must not block.
	Arrived(t *Ticket) bool
}

// Ticket is an operation that waits.
type Ticket struct {
	Op  op.Op
	run *Run
	n   notification
	c   *call
}

// Go lets the operation go on: the rules decide about it now, as they would have
// when it came.
func (t *Ticket) Go() {
	r := t.run
	action, fired := r.ask(&t.Op)
	if fired == nil {
		// Told before it goes: what comes next may be on its way at once.
		r.saw(&t.Op, Result{})
		r.proceed(&t.n)
		return
	}
	r.act(&held{notification: t.n, call: t.c, op: t.Op, action: action, rule: fired})
}

// Waits reports whether the caller is still there: another thread may have ended
// its process meanwhile.
func (t *Ticket) Waits() bool { return notificationValid(t.run.listener, t.n.id) }

// Renew says what the operation is now: what it would find has changed since it
// came, if somebody else has made a file meanwhile, or removed or renamed one.
func (t *Ticket) Renew() {
	l := newLooker(t.run.root, func() {})
	defer l.close()
	o := op.Op{Actor: t.Op.Actor, Pid: t.Op.Pid, Tid: t.Op.Tid, Proc: t.Op.Proc, Script: t.Op.Script,
		Call: t.c.name, Kind: t.c.kind, Off: -1, Size: -1}
	if t.c.shape.read(l, &t.n, &o) && t.Waits() {
		cuts(l, t.c, &t.n, &o)
		t.Op = o
	}
}

// cuts marks an open that cuts off a file which is empty so far, with the size
// that it leaves: whoever writes before it would see that.
func cuts(l *looker, c *call, n *notification, o *op.Op) {
	s, ok := c.shape.(opening)
	if ok && o.Kind == op.Open && o.Exists && o.Writes && s.asked(l, n)&unix.O_TRUNC != 0 {
		o.Size = 0
	}
}

// Run is whose operation it is.
func (t *Ticket) Run() *Run { return t.run }

// gate offers an operation to the gate, and reports whether it was taken.
func (r *Run) gate(c *call, n *notification, o *op.Op) bool {
	if r.cfg.Gate == nil {
		return false
	}
	cuts(r.look, c, n, o)
	return r.cfg.Gate.Arrived(&Ticket{Op: *o, run: r, n: *n, c: c})
}

// Ended is closed when the last process of the subject has ended.
func (r *Run) Ended() <-chan struct{} { return r.ended }

// Bury reads the status of a subject that has ended, so that who looks for its
// process finds none: until then it is a zombie, which a signal of 0 still reaches.
func (r *Run) Bury() {
	if r.HasEnded() {
		r.reapFirst()
	}
}

// HasSocket reports whether a process of the subject has a socket open.
func (r *Run) HasSocket() bool {
	for _, pid := range r.members() {
		dir := procDir(pid) + "fd/"
		fds, _ := os.ReadDir(dir)
		for _, fd := range fds {
			if to, err := os.Readlink(dir + fd.Name()); err == nil && strings.HasPrefix(to, "socket:") {
				return true
			}
		}
	}
	return false
}

// Exited is closed when the first process of the subject has ended.
func (r *Run) Exited() <-chan struct{} { return r.exited }

// Blocked says by whom a lock that waits would be kept from being had now; "" is
// nobody, and so for every other operation. It is read and never tried: a lock
// that was tried would be owned before its turn.
func (t *Ticket) Blocked() string {
	if l, ok := t.obstacle(); ok {
		return holder(l)
	}
	return ""
}

// BlockedBy says which of some runs has the lock that is in the way: nil where
// none has. The process that took it may have ended, and left it to one that has
// the open file, too.
func (t *Ticket) BlockedBy(runs ...*Run) *Run {
	l, ok := t.obstacle()
	if !ok {
		return nil
	}
	for _, r := range runs {
		if r.has(l) {
			return r
		}
	}
	return nil
}

// has reports whether a process of the run holds a lock.
func (r *Run) has(l lock) bool {
	for _, pid := range r.members() {
		if l.class == posixLock && pid == l.pid || l.class != posixLock && openLocks(pid)[l] {
			return true
		}
	}
	return false
}

// obstacle is the lock that keeps the operation from going on, if one does.
func (t *Ticket) obstacle() (lock, bool) {
	w, ok := t.wants()
	if !ok {
		return lock{}, false
	}
	return w.obstacle()
}

// wants is the lock that a call waits for; false where it waits for none.
func (t *Ticket) wants() (wanted, bool) {
	w := wanted{tid: int(t.n.tid), fd: int(int32(t.n.args[0])), end: maxOffset}
	switch t.Op.Call {
	case "flock":
		w.class, w.exclusive = flockLock, t.n.args[1]&unix.LOCK_EX != 0
		return w, t.n.args[1]&unix.LOCK_NB == 0
	case "fcntl":
		w.class = posixLock
		if t.n.args[1] == unix.F_OFD_SETLKW {
			w.class = openFileLock
		}
		return w, (t.n.args[1] == unix.F_SETLKW || t.n.args[1] == unix.F_OFD_SETLKW) && w.record(t.n.args[2])
	}
	return wanted{}, false
}
