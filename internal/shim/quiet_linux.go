package shim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Quiet reports whether nothing of the subject moves: every thread is one of the
// held, or asleep without a deadline that is near, and every call that was
// trapped has been dealt with. What is asleep like this stays so until somebody
// from outside does something.
//
// It is read from the kernel, and it holds for one instant: whoever had run since
// the census was taken would show it in his schedule's count, and who has not, and
// slept when he was looked at, sleeps still: none that could wake him has run.
//
// A deadline is near that comes within a second while another thread is held: a
// heartbeat, a retry. Beyond that it is a limit on what takes too long, and need
// not be waited for. Of a subject none of whose threads is held every deadline is
// near that a run lives to see.
func (r *Run) Quiet(held map[int]bool) bool { return r.quiet(held, farAway) }

// Idle is Quiet for a subject that serves others: of its deadlines only those are
// near that come within the given time, for a server's limits on its clients
// never end.
func (r *Run) Idle(near time.Duration) bool { return r.quiet(nil, near) }

// Still reports whether no thread has run since the subject was last found quiet.
// Where several subjects can wake each other, each was quiet when it was looked
// at, and all are at once if afterwards each is still.
func (r *Run) Still() bool { return r.census != nil && (r.census.ended || r.census.unmoved()) }

func (r *Run) quiet(held map[int]bool, far time.Duration) bool {
	if r.census == nil {
		r.census = newCensus(r)
	}
	if r.HasEnded() {
		return r.census.over()
	}
	if !r.census.take() {
		return false // it has died, and the kernel is about to say so
	}
	if r.census.allHeld(held) {
		return true // nobody is left who could make another thread
	}
	before, ok := r.receiving()
	if !ok || !r.census.dozing(held, far) || !r.census.unmoved() {
		return false
	}
	after, ok := r.receiving()
	return ok && before == after
}

// over reports whether the last process has ended for good. The kernel says that
// no more calls will come before it closes the files, and lets go of their locks.
func (c *census) over() bool {
	c.ended = c.ended || len(c.run.members()) == 0
	return c.ended
}

// allHeld reports whether there is no thread but held ones.
func (c *census) allHeld(held map[int]bool) bool {
	for _, m := range c.members {
		for tid := range m.threads {
			if !held[tid] {
				return false
			}
		}
	}
	return true
}

// dozing reports whether every thread that is not held sleeps, and longer than
// near where none is held.
func (c *census) dozing(held map[int]bool, near time.Duration) bool {
	for _, m := range c.members {
		for tid := range m.threads {
			if held[tid] {
				near = min(near, soon)
			}
		}
	}
	for _, m := range c.members {
		naps := m.naps(held)
		for tid, t := range m.threads {
			if !held[tid] && !t.dozing(m.pid, near, &naps) {
				return false
			}
		}
	}
	return true
}

// naps is how many short naps of the Go runtime's monitor count as sleep. Where held
// threads may keep all of the runtime's processors, only the monitor takes one of them
// away, and gives it to a thread that has something to do: it must have come to rest.
func (m *member) naps(held map[int]bool) int {
	n := 0
	for tid := range m.threads {
		if held[tid] {
			n++
		}
	}
	if n >= runtime.GOMAXPROCS(0) { // the subject's, as far as anybody can know
		return 0
	}
	return 1
}

// unmoved reports whether no thread has run since the census was taken, and none
// has come. The runtime's monitor may have.
func (c *census) unmoved() bool {
	for _, m := range c.members {
		if m.count() != len(m.threads)+len(m.zombies) {
			return false
		}
		for _, t := range m.threads {
			if !t.monitor && !bytes.Equal(t.scheduled(), t.ran) {
				return false
			}
		}
	}
	return true
}

// receiving reports whether the receiving thread waits for the next call, with
// nothing to come, and how often it has run.
func (r *Run) receiving() (ran string, ok bool) {
	if r.census.receiver == nil {
		r.census.receiver = openThread(int(r.receiver.Load()))
	}
	t := r.census.receiver
	if t == nil {
		return "", false
	}
	ran = string(t.scheduled())
	s, asleep := t.sleep()
	receives := asleep && s.nr == unix.SYS_IOCTL && s.args[1] == unix.SECCOMP_IOCTL_NOTIF_RECV
	// It may have the call already and wait in the same ioctl for a lock or a page.
	return ran, receives && t.state() == 'S' && nothingComes(r.listener)
}

// sleep is the call in which a thread waits.
type sleep struct {
	nr   uint32
	args [6]uint64
}

// sleepOf reads in which call a thread waits; false where it is awake, or waits
// outside of a call (a page that comes from disk).
func sleepOf(tid int) (sleep, bool) {
	text, err := os.ReadFile(procDir(tid) + "syscall")
	if err != nil {
		return sleep{}, false
	}
	return parseSleep(string(text))
}

func parseSleep(text string) (sleep, bool) {
	f := strings.Fields(text)
	if len(f) < 8 {
		return sleep{}, false
	}
	nr, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil {
		return sleep{}, false
	}
	s := sleep{nr: uint32(nr)}
	for i := range s.args {
		s.args[i], _ = strconv.ParseUint(strings.TrimPrefix(f[1+i], "0x"), 16, 64)
	}
	return s, true
}

// dozing reports whether a thread sleeps without a near deadline, or is dead. One
// short nap a process is the Go runtime's monitor, which wakes all the time and
// does nothing while the program waits.
func (t *thread) dozing(pid int, near time.Duration, runtimeNaps *int) bool {
	s, ok := t.sleep()
	if !ok {
		return ended(t.tid)
	}
	switch t.state() {
	case 'S', 'T', 't':
	case 'D':
		if !s.vforks(t.tid) {
			return false // it waits for the kernel, and not for anybody
		}
	default:
		return false // somebody has woken it, and it has not run yet
	}
	left, timed := s.deadline(t.tid)
	if !timed || left > near {
		return true
	}
	if s.nr == unix.SYS_NANOSLEEP && left <= monitorNap && *runtimeNaps > 0 && isGo(pid) {
		*runtimeNaps--
		t.monitor = true
		return true
	}
	return false
}

// vforks reports whether a call is that of a vfork's parent, which sleeps so that
// no signal wakes it, and waits for its child.
func (s sleep) vforks(tid int) bool {
	switch s.nr {
	case vforkCall:
		return true
	case unix.SYS_CLONE:
		return s.args[0]&unix.CLONE_VFORK != 0
	case unix.SYS_CLONE3:
		var flags [8]byte // the first word of what the argument points to
		_, errno := peek(tid, s.args[0], flags[:])
		return errno == 0 && binary.NativeEndian.Uint64(flags[:])&unix.CLONE_VFORK != 0
	}
	return false
}

// ended reports whether a thread is no more, or a zombie.
func ended(tid int) bool {
	state := statusField(tid, "State")
	return state == "" || state[0] == 'Z' || state[0] == 'X'
}

const (
	// farAway is a deadline that no run waits for; the Go runtime's monitor
	// sleeps for a minute at a time.
	farAway    = 20 * time.Second
	soon       = time.Second
	monitorNap = 10 * time.Millisecond
)

// deadline is when a sleeping call will give up by itself, if it will. A time
// that is given relative to the call's beginning counts in full.
func (s sleep) deadline(tid int) (time.Duration, bool) {
	switch s.nr {
	case unix.SYS_NANOSLEEP:
		return timespec(tid, s.args[0])
	case unix.SYS_CLOCK_NANOSLEEP:
		const absolute = 1
		if s.args[1]&absolute != 0 {
			return until(tid, s.args[2], int32(s.args[0]))
		}
		return timespec(tid, s.args[2])
	case unix.SYS_FUTEX:
		return s.futex(tid)
	case unix.SYS_EPOLL_PWAIT:
		return milliseconds(s.args[3])
	case unix.SYS_PPOLL, unix.SYS_RT_SIGTIMEDWAIT:
		return timespec(tid, s.args[2])
	case unix.SYS_PSELECT6:
		return timespec(tid, s.args[4])
	case unix.SYS_EPOLL_PWAIT2:
		return timespec(tid, s.args[3])
	}
	return s.legacyDeadline(tid)
}

func (s sleep) futex(tid int) (time.Duration, bool) {
	const (
		command    = 0x7f
		realtime   = 0x100
		wait       = 0
		lockPI     = 6
		waitBitset = 9
	)
	switch s.args[1] & command {
	case wait:
		return timespec(tid, s.args[3])
	case waitBitset, lockPI:
		clock := int32(unix.CLOCK_MONOTONIC)
		if s.args[1]&realtime != 0 || s.args[1]&command == lockPI {
			clock = unix.CLOCK_REALTIME
		}
		return until(tid, s.args[3], clock)
	}
	return 0, false
}

func milliseconds(arg uint64) (time.Duration, bool) {
	ms := int32(arg)
	return time.Duration(ms) * time.Millisecond, ms >= 0
}

// timespec reads a struct timespec; none is for ever.
func timespec(tid int, addr uint64) (time.Duration, bool) {
	if addr == 0 {
		return 0, false
	}
	var b [16]byte
	if _, errno := peek(tid, addr, b[:]); errno != 0 {
		return 0, true // it cannot be known: soon, then
	}
	sec, nsec := binary.NativeEndian.Uint64(b[:]), binary.NativeEndian.Uint64(b[8:])
	if sec > uint64(farAway/time.Second) {
		return 2 * farAway, true
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}

// until reads an absolute time.
func until(tid int, addr uint64, clock int32) (time.Duration, bool) {
	if addr == 0 {
		return 0, false
	}
	var b [16]byte
	var now unix.Timespec
	_, errno := peek(tid, addr, b[:])
	if errno != 0 || unix.ClockGettime(clock, &now) != nil {
		return 0, true
	}
	sec, nsec := int64(binary.NativeEndian.Uint64(b[:])), int64(binary.NativeEndian.Uint64(b[8:]))
	if sec-now.Sec > int64(farAway/time.Second) {
		return 2 * farAway, true
	}
	return time.Duration(sec-now.Sec)*time.Second + time.Duration(nsec-now.Nsec), true
}

// threads lists a process's threads.
func threads(pid int) []int {
	var out []int
	entries, _ := os.ReadDir(procDir(pid) + "task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out
}

// Waiting says what the subject's threads sleep in, for a message: "cat reads a
// pipe".
func (r *Run) Waiting() string {
	var out []string
	for _, pid := range r.members() {
		for _, tid := range threads(pid) {
			if s, ok := sleepOf(tid); ok && len(out) < 4 {
				out = append(out, fmt.Sprintf("%s in %s", programOf(pid), callName(s.nr)))
			}
		}
	}
	return strings.Join(out, ", ")
}

func callName(nr uint32) string {
	if c := callOf(nr); c != nil {
		return c.name
	}
	if name, ok := sleepNames[nr]; ok {
		return name
	}
	return fmt.Sprintf("system call %d", nr)
}

// sleepNames are calls that wait and are never trapped.
var sleepNames = map[uint32]string{
	unix.SYS_FUTEX: "futex", unix.SYS_WAIT4: "wait", unix.SYS_WAITID: "wait",
	unix.SYS_EPOLL_PWAIT: "epoll", unix.SYS_PPOLL: "poll", unix.SYS_NANOSLEEP: "sleep",
	unix.SYS_CLOCK_NANOSLEEP: "sleep", unix.SYS_PSELECT6: "select", unix.SYS_ACCEPT4: "accept",
	unix.SYS_RECVFROM: "receive", unix.SYS_RECVMSG: "receive", unix.SYS_RT_SIGSUSPEND: "sigsuspend",
}
