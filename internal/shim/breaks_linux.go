package shim

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// breaks tells whether calls of the subject were broken off by signals before
// the supervisor had received them. The kernel gives calls consecutive ids, so
// each one leaves a gap. Most do no harm: the call is begun again and comes
// under another id. Only where a handler was installed without SA_RESTART, for
// a signal that can have come, the program may have seen an EINTR that it would
// not have seen without us, and the run says nothing about it.
type breaks struct {
	last    uint64
	missing int // calls that were broken off …
	harmed  int // … while a process lived that may have seen it
	// fragile is, by executable, the signals (1<<(number-1)) that it handles
	// without SA_RESTART. An exec leaves handlers behind; a fork does not.
	fragile map[string]uint64
	// owners are the processes that have such handlers and lived when last
	// looked at.
	owners    map[int]*owner
	delivered atomic.Uint64 // sent by the subject, or passed on to it
}

// owner is a process whose calls a signal can break off for good.
type owner struct {
	exe string
	// nap is how often it had gone to sleep when it was last seen asleep in a
	// call that is not trapped; 0 where it may have made another one since. A
	// shell that waits for its child sleeps through the child's end, when calls
	// of the child's other threads are lost, and cannot have lost one itself.
	nap int
}

// received counts a call of a thread in. On a gap, living lists the subject's
// processes.
func (b *breaks) received(id uint64, tid int, living func() []int) {
	if b.last != 0 && id != b.last+1 {
		gap := int(id - b.last - 1)
		b.missing += gap
		if len(b.fragile) > 0 && b.suspect(tid, living()) {
			b.harmed += gap
		}
	}
	b.last = id
	for pid, o := range b.owners {
		if pid == tid {
			o.nap = 0
		} else if o.nap == 0 && asleep(pid) {
			o.nap = naps(pid)
		}
	}
}

// asleep reports whether a process waits in a call that is never trapped.
func asleep(pid int) bool {
	text, _ := os.ReadFile(procDir(pid) + "syscall")
	var nr uint32
	n, _ := fmt.Sscan(string(text), &nr)
	return n == 1 && callOf(nr) == nil
}

// naps is how often a process has gone to sleep.
func naps(pid int) int {
	n, _ := strconv.Atoi(statusField(pid, "voluntary_ctxt_switches"))
	return n
}

// handler notes a new signal action: flags is its sa_flags.
func (b *breaks) handler(tid int, sig syscall.Signal, handler, flags uint64) {
	const sigDfl, sigIgn = 0, 1
	if handler == sigDfl || handler == sigIgn || flags&saRestart != 0 {
		return
	}
	exe := executable(tid)
	if b.fragile == nil {
		b.fragile, b.owners = make(map[string]uint64), make(map[int]*owner)
	}
	b.fragile[exe] |= bit(sig)
	b.owners[tid] = &owner{exe: exe}
}

const saRestart = 0x10000000

// met takes note of a thread that calls for the first time, which may be a
// fork of one that has handlers, and forgets owners that are no longer what
// they were: what breaks from now on cannot be theirs.
func (b *breaks) met(tid int) {
	if len(b.fragile) == 0 {
		return
	}
	for pid, o := range b.owners {
		if executable(pid) != o.exe {
			delete(b.owners, pid)
		}
	}
	if exe := executable(tid); b.fragile[exe] != 0 {
		b.owners[tid] = &owner{exe: exe}
	}
}

// suspect reports whether a process lives, or has just died, that may have seen
// a call of its own broken off before the one that tid makes now.
func (b *breaks) suspect(tid int, living []int) bool {
	possible := ^onlySent | b.delivered.Load()
	for pid, o := range b.owners {
		if executable(pid) == "" && b.fragile[o.exe]&possible != 0 {
			return true
		}
	}
	for _, pid := range living {
		mask := b.fragile[executable(pid)] & possible
		if mask != 0 && signals(pid, "SigCgt")&mask != 0 && !b.sleptThrough(pid, tid) {
			return true
		}
	}
	return false
}

// sleptThrough reports whether a process has slept all along, until the call
// that it makes now if it is the one that calls.
func (b *breaks) sleptThrough(pid, caller int) bool {
	o := b.owners[pid]
	if o == nil || o.nap == 0 {
		return false
	}
	since := naps(pid) - o.nap
	return since == 0 || since == 1 && pid == caller
}

// executable is what a process runs, or "" where it is gone.
func executable(pid int) string {
	exe, _ := os.Readlink(procDir(pid) + "exe")
	return exe
}

// sent notes a signal on its way to the subject.
func (b *breaks) sent(sig syscall.Signal) {
	b.delivered.Or(bit(sig))
}

func bit(sig syscall.Signal) uint64 {
	if sig < 1 || sig > 64 {
		return 0
	}
	return 1 << (sig - 1)
}

// onlySent are signals that come when somebody sends them; the others the
// kernel sends by itself.
var onlySent = bit(unix.SIGHUP) | bit(unix.SIGINT) | bit(unix.SIGQUIT) | bit(unix.SIGTERM) |
	bit(unix.SIGUSR1) | bit(unix.SIGUSR2) | bit(unix.SIGTSTP) | bit(unix.SIGABRT) | bit(unix.SIGWINCH)

// verdict is why the run is void, or "".
func (b *breaks) verdict() string {
	if b.harmed == 0 {
		return ""
	}
	return fmt.Sprintf("a signal broke off %d of the subject's calls before the supervisor had them, and a handler without SA_RESTART may have made them fail with EINTR: repeat the run", b.harmed)
}
