package shim

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// Run is one subject under supervision.
type Run struct {
	cfg       Config
	root      string
	listener  int
	installed atomic.Bool  // there is a listener, or it could not be had
	launcher  int          // the thread that starts the program
	receiver  atomic.Int32 // the receiving thread
	census    *census      // of whoever asks for quiet
	pid       int          // the first process
	tether    *tether      // of its group to us; nil: none could be had

	// The receiving thread's own:
	look    *looker
	queue   []notification // received and not yet handled
	now     notification   // being handled
	op      op.Op          // the operation being decided
	leaders map[int]int    // thread -> process
	breaks  breaks
	rec     *recorder // nil: nobody records
	shared  []string  // files in the tree that are mapped, not yet for writing

	// answer guards every answer: once killed is set, none is given.
	answer sync.Mutex
	killed bool
	byRule bool

	mu      sync.Mutex
	again   map[uint32]*encore // by thread: a call that will come once more
	encores atomic.Int32       // how many: mostly none, and then nobody looks
	known   map[int]bool       // threads that called
	reasons []string           // why the run is void
	notes   []string
	lastTid uint32

	observing sync.Mutex
	acting    sync.WaitGroup // goroutines that hold an operation
	overOnce  sync.Once
	exited    chan struct{} // the first process has ended
	// With families locked:
	status unix.WaitStatus
	reaped bool          // the status was read
	ended  chan struct{} // the last process has ended
}

func newRun(cfg Config, root string) *Run {
	r := &Run{
		cfg: cfg, root: root, listener: -1,
		leaders: make(map[int]int),
		again:   make(map[uint32]*encore),
		known:   make(map[int]bool),
		exited:  make(chan struct{}),
		ended:   make(chan struct{}),
	}
	r.look = newLooker(root, r.drain)
	return r
}

func (r *Run) started(pid int) {
	r.mu.Lock()
	r.known[pid] = true
	r.mu.Unlock()
	enroll(r, pid)
	go r.watch()
}

// Pid is the id of the subject's first process.
func (r *Run) Pid() int { return r.pid }

// Signal passes a signal to the subject's first process, as its parent would.
func (r *Run) Signal(sig syscall.Signal) error {
	select {
	case <-r.exited:
		return unix.ESRCH
	default:
		r.breaks.sent(sig)
		return unix.Kill(r.pid, sig)
	}
}

// serve receives at once and answers what it can by itself: a call that its
// caller's signals reach before we have received it is broken off, and leaves
// a gap in the ids.
func (r *Run) serve() {
	if !r.awaitListener() {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.receiver.Store(int32(unix.Gettid()))
	defer close(r.ended)
	_, restore := hurry()
	defer restore()
	wakeInSync(r.listener)
	for {
		if len(r.queue) == 0 {
			if receiveNeedsPoll && hungUp(r.listener, -1) || !r.next() {
				return
			}
			continue
		}
		r.now = r.queue[0]
		r.queue = append(r.queue[:0], r.queue[1:]...)
		r.handle(&r.now)
	}
}

// next receives a call into the queue. It reports false at the end of the run.
func (r *Run) next() bool {
	var n notification
	switch errno := receive(r.listener, &n); errno {
	case 0:
		r.breaks.received(n.id, int(n.tid), r.members)
		r.queue = append(r.queue, n)
	case unix.EINTR:
	case unix.ENOENT: // the caller is gone; or every caller
		return !hungUp(r.listener, 0)
	default:
		r.void("receive from the kernel: %v", errno)
		go r.Kill()
		return false
	}
	return true
}

// drain receives what has come meanwhile; whoever works long for one call asks
// for it now and then.
func (r *Run) drain() {
	for waiting(r.listener) && r.next() {
	}
}

// waiting reports whether a call waits to be received.
func waiting(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p[:], 0)
	return err == nil && n > 0 && p[0].Revents&unix.POLLIN != 0
}

// nothingComes reports whether it is certain that no call waits to be received: a
// signal that breaks the look off has it tell of an error.
func nothingComes(fd int) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(p[:], 0)
	return err == nil && p[0].Revents&(unix.POLLIN|unix.POLLERR) == 0
}

// hungUp reports whether no process with the filter is left. It waits for that
// or for a call, up to the given milliseconds.
func hungUp(fd, ms int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, ms); err != unix.EINTR {
			return p[0].Revents&unix.POLLHUP != 0
		}
	}
}

// handle decides one call. It must not block.
func (r *Run) handle(n *notification) {
	if r.launches(n.tid) {
		_ = send(r.listener, &response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
		return
	}
	r.remember(n.tid)
	if n.arch != nativeArch || foreignFrom != 0 && n.nr >= foreignFrom {
		r.void("%s makes calls of another architecture, which are not covered", programOf(int(n.tid)))
		r.proceed(n)
		return
	}
	c := callOf(n.nr)
	switch {
	case r.cfg.Clock != 0 && r.clocked(n):
	case c == nil:
		r.proceed(n)
	case c.shape == nil:
		r.watchCall(c, n)
		if r.rec != nil {
			r.rec.watch(c, n)
		}
		r.proceed(n)
	case r.repeated(n):
	default:
		r.decide(c, n)
	}
}

// launches reports whether a thread is the one that starts the program. It is under
// the filter, too, and answered even where the program was killed at its very first
// operation: whom to kill is known only when this thread has come to an end. Then its
// number may be another's.
func (r *Run) launches(tid uint32) bool {
	if int(tid) != r.launcher {
		return false
	}
	var st unix.Stat_t
	return unix.Stat(fmt.Sprintf("/proc/self/task/%d", tid), &st) == nil
}

func (r *Run) decide(c *call, n *notification) {
	o := &r.op
	*o = op.Op{Actor: r.cfg.Actor, Tid: int(n.tid), Call: c.name, Kind: c.kind, Off: -1, Size: -1}
	if !c.shape.read(r.look, n, o) || !r.shown(o) {
		r.proceed(n)
		return
	}
	if r.cfg.Observer != nil || r.cfg.Gate != nil {
		o.Pid = r.processOf(o.Tid)
	}
	if r.cfg.Names {
		o.Proc, o.Script = programNames(o.Tid)
	}
	if r.gate(c, n, o) {
		return
	}
	action, fired := r.ask(o)
	if fired == nil && r.rec != nil && r.rec.perform(c, n, o) {
		return
	}
	if fired == nil {
		r.proceed(n)
		r.saw(o, Result{})
		return
	}
	if r.rec != nil {
		r.rec.struck(n, o, action)
	}
	r.act(&held{notification: *n, call: c, op: *o, action: action, rule: fired})
}

func (r *Run) ask(o *op.Op) (rule.Action, *rule.Rule) {
	if r.cfg.Decider == nil {
		return rule.Action{}, nil
	}
	return r.cfg.Decider.Decide(o)
}

func (r *Run) shown(o *op.Op) bool {
	return r.cfg.Outside || inside(o.Path) || inside(o.To)
}

func (r *Run) saw(o *op.Op, res Result) {
	if r.cfg.Observer == nil {
		return
	}
	r.observing.Lock()
	defer r.observing.Unlock()
	r.cfg.Observer.Saw(o, res)
}

// remember keeps who called, so that a process that has left its family is
// still known as this run's.
func (r *Run) remember(tid uint32) {
	if tid == r.lastTid {
		return
	}
	r.lastTid = tid
	r.mu.Lock()
	fresh := !r.known[int(tid)]
	r.known[int(tid)] = true
	r.mu.Unlock()
	if fresh {
		r.breaks.met(int(tid))
	}
}

// processOf is the process of a thread.
func (r *Run) processOf(tid int) int {
	pid, ok := r.leaders[tid]
	if !ok {
		pid = leaderOf(tid)
		r.leaders[tid] = pid
	}
	return pid
}

// proceed lets the call go on.
func (r *Run) proceed(n *notification) {
	r.reply(&response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

// reply answers, unless the subject is being ended. It reports whether the
// caller was still there.
func (r *Run) reply(resp *response) bool {
	r.answer.Lock()
	defer r.answer.Unlock()
	if r.killed {
		return false
	}
	return send(r.listener, resp) == 0
}

func (r *Run) void(format string, args ...any) { r.tell(&r.reasons, format, args...) }
func (r *Run) note(format string, args ...any) { r.tell(&r.notes, format, args...) }

// maxSaid bounds what a run complains about.
const maxSaid = 16

func (r *Run) tell(list *[]string, format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, said := range *list {
		if said == s {
			return
		}
	}
	if len(*list) < maxSaid {
		*list = append(*list, s)
	}
}

// held is an operation that waits for its answer, and what a rule wants done.
type held struct {
	notification
	call   *call
	op     op.Op
	action rule.Action
	rule   *rule.Rule
	// follow, where it is set, is done instead of action to the thread, which is
	// traced and at the start of its call.
	follow func(*tracee, *held) error
}
