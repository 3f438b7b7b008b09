package shim

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockCall is a call that has to do with the wall clock. The filter traps these
// only where Config.Clock shifts it.
type clockCall struct {
	call
	do func(r *Run, c *clockCall, n *notification)
	// Of one that waits until a time: argument at leads to it, some bytes in, and
	// is tells whether it is one of the wall clock.
	at     int
	inside uint64
	is     func(n *notification) bool
}

// wallClocks are those that a shift shifts.
var wallClocks = []uint32{unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_TAI}

// absolute is the flag by which a time is one of a clock, and not from now on.
var absolute = &argTest{arg: 1, mask: 1, values: []uint32{1}}

var clockCalls = append([]clockCall{
	{call: call{name: "execve", nr: unix.SYS_EXECVE}, do: (*Run).execs},
	{call: call{name: "execveat", nr: unix.SYS_EXECVEAT}, do: (*Run).execs},
	{call: call{name: "clock_gettime", nr: unix.SYS_CLOCK_GETTIME, test: &argTest{arg: 0, mask: allBits, values: wallClocks}},
		do: (*Run).clockGettime},
	{call: call{name: "gettimeofday", nr: unix.SYS_GETTIMEOFDAY}, do: (*Run).gettimeofday},
	{call: call{name: "futex", nr: unix.SYS_FUTEX, test: futexWaits}, do: (*Run).waits, at: 3},
	{call: call{name: "futex_waitv", nr: unix.SYS_FUTEX_WAITV, test: &argTest{arg: 4, mask: allBits, values: wallClocks[:1]}},
		do: (*Run).waits, at: 3},
	{call: call{name: "mq_timedsend", nr: unix.SYS_MQ_TIMEDSEND}, do: (*Run).waits, at: 4},
	{call: call{name: "mq_timedreceive", nr: unix.SYS_MQ_TIMEDRECEIVE}, do: (*Run).waits, at: 4},
	{call: call{name: "clock_nanosleep", nr: unix.SYS_CLOCK_NANOSLEEP, test: absolute}, do: (*Run).waits, at: 2,
		is: func(n *notification) bool { return isWall(int(int32(n.args[0]))) }},
	{call: call{name: "timerfd_settime", nr: unix.SYS_TIMERFD_SETTIME, test: absolute}, do: (*Run).waits, at: 2, inside: 16,
		is: func(n *notification) bool { return isWall(clockOfDescriptor(int(n.tid), n.args[0])) }},
	{call: call{name: "timer_settime", nr: unix.SYS_TIMER_SETTIME, test: absolute}, do: (*Run).waits, at: 2, inside: 16,
		is: func(n *notification) bool { return isWall(clockOfTimer(int(n.tid), n.args[0])) }},
}, legacyClockCalls...)

// futexWaits are the waits whose time limit is one of the wall clock.
var futexWaits = func() *argTest {
	const waitBitset, waitRequeuePI, lockPI2, lockPI, wall, command = 9, 11, 13, 6, 0x100, 0x7f
	return &argTest{arg: 1, mask: command | wall,
		values: []uint32{waitBitset | wall, waitRequeuePI | wall, lockPI2 | wall, lockPI}}
}()

// clockTraps are the calls that the filter must trap for the clock's sake.
func (c Config) clockTraps() []call {
	if c.Clock == 0 {
		return nil
	}
	out := make([]call, len(clockCalls))
	for i := range clockCalls {
		out[i] = clockCalls[i].call
	}
	return out
}

// ClockCalls are the names of the calls that a shifted clock traps.
func ClockCalls() []string {
	var names []string
	for i := range clockCalls {
		names = append(names, clockCalls[i].name)
	}
	return names
}

// clocked deals with a call that is there for the clock's sake.
func (r *Run) clocked(n *notification) bool {
	for i := range clockCalls {
		if c := &clockCalls[i]; c.nr == n.nr {
			if !r.repeated(n) {
				c.do(r, c, n)
			}
			return true
		}
	}
	return false
}

// wallTime is the subject's time by one of its clocks.
func (r *Run) wallTime(clock int32) time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(clock, &ts)
	return time.Duration(ts.Nano()) + r.cfg.Clock
}

func (r *Run) clockGettime(_ *clockCall, n *notification) {
	now := r.wallTime(int32(n.args[0]))
	r.give(n, n.args[1], pairOf(int64(now/time.Second), int64(now%time.Second)), 0)
}

func (r *Run) gettimeofday(_ *clockCall, n *notification) {
	if zone := n.args[1]; zone != 0 && r.write(n, zone, make([]byte, 8)) != 0 {
		r.reply(&response{id: n.id, errno: -int32(unix.EFAULT)})
		return
	}
	if n.args[0] == 0 {
		r.reply(&response{id: n.id})
		return
	}
	now := r.wallTime(unix.CLOCK_REALTIME)
	r.give(n, n.args[0], pairOf(int64(now/time.Second), int64(now%time.Second/time.Microsecond)), 0)
}

// give answers a call with what it is to find at addr, and what it returns.
func (r *Run) give(n *notification, addr uint64, b []byte, value int64) {
	switch errno := r.write(n, addr, b); errno {
	case 0:
		r.reply(&response{id: n.id, val: value})
	case unix.EFAULT:
		r.reply(&response{id: n.id, errno: -int32(unix.EFAULT)})
	default: // it is gone, or closed to us; a void says so
		r.proceed(n)
	}
}

func (r *Run) write(n *notification, addr uint64, b []byte) unix.Errno {
	errno := pokeBytes(int(n.tid), addr, b)
	r.look.blame(int(n.tid), errno)
	return errno
}

func pairOf(a, b int64) []byte {
	out := binary.NativeEndian.AppendUint64(make([]byte, 0, 16), uint64(a))
	return binary.NativeEndian.AppendUint64(out, uint64(b))
}

// waits lets a call that waits until a time of the shifted clock wait until the
// same moment of the real one: what it was given is changed in its memory while it
// waits.
func (r *Run) waits(c *clockCall, n *notification) {
	addr := n.args[c.at]
	if addr == 0 || c.is != nil && !c.is(n) {
		r.proceed(n)
		return
	}
	addr += c.inside
	h := &held{notification: *n, call: &c.call, follow: func(t *tracee, h *held) error {
		if err := t.backdate(addr, r.cfg.Clock); err != nil {
			return err
		}
		return t.call(h)
	}}
	h.op.Path = "the shifted clock"
	r.beside(func() { r.perform(h) })
}

// backdate takes a shift off the time at addr. No time is before 1970, and the
// beginning of 1970 disarms a timer.
func (t *tracee) backdate(addr uint64, shift time.Duration) error {
	var b [16]byte
	if n, errno := peek(t.tid, addr, b[:]); errno != 0 || n < len(b) {
		return nil // the call will fail by itself
	}
	sec, nsec := int64(binary.NativeEndian.Uint64(b[:])), int64(binary.NativeEndian.Uint64(b[8:]))
	if sec == 0 && nsec == 0 || sec < 0 || nsec < 0 || nsec >= int64(time.Second) {
		return nil
	}
	sec, nsec = sec-int64(shift/time.Second), nsec-int64(shift%time.Second)
	if nsec < 0 {
		sec, nsec = sec-1, nsec+int64(time.Second)
	} else if nsec >= int64(time.Second) {
		sec, nsec = sec+1, nsec-int64(time.Second)
	}
	if sec < 0 {
		sec, nsec = 0, 1
	}
	if err := t.poke(addr, uint64(sec)); err != nil {
		return err
	}
	return t.poke(addr+8, uint64(nsec))
}

func isWall(clock int) bool {
	for _, c := range wallClocks {
		if int(c) == clock {
			return true
		}
	}
	return false
}

// clockOfDescriptor is the clock of a timer that is a descriptor.
func clockOfDescriptor(tid int, fd uint64) int {
	info, _ := os.ReadFile(procDir(tid) + "fdinfo/" + strconv.Itoa(int(int32(fd))))
	return clockIn(string(info), "clockid:")
}

// clockOfTimer is the clock of a POSIX timer.
func clockOfTimer(tid int, id uint64) int {
	text, _ := os.ReadFile(procDir(tid) + "timers")
	for _, timer := range strings.Split("\n"+string(text), "\nID: ") {
		if number, rest, _ := strings.Cut(timer, "\n"); number == strconv.Itoa(int(int32(id))) {
			return clockIn(rest, "ClockID:")
		}
	}
	return -1
}

func clockIn(text, key string) int {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			if clock, err := strconv.Atoi(strings.TrimSpace(rest)); err == nil {
				return clock
			}
		}
	}
	return -1
}
