package shim

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The supervisor is the subreaper of its subjects: a process that has left its
// family becomes a child of the supervisor's first thread. That thread does
// nothing but reap.

// firstThread is where the kernel says who was adopted.
var firstThread = fmt.Sprintf("/proc/self/task/%d/children", os.Getpid())

// families are the runs under way, by their first process.
var families = struct {
	sync.Mutex
	runs map[int]*Run
}{runs: make(map[int]*Run)}

func enroll(r *Run, pid int) {
	families.Lock()
	defer families.Unlock()
	r.pid = pid
	families.runs[r.pid] = r
}

func discharge(r *Run) {
	families.Lock()
	defer families.Unlock()
	delete(families.runs, r.pid)
}

// alone reports whether r is the only run.
func alone(r *Run) bool {
	families.Lock()
	defer families.Unlock()
	return len(families.runs) == 1 && families.runs[r.pid] == r
}

// markedBy is the run under way whose mark a process has in its environment, or
// nil. A zombie has none.
func markedBy(pid int) *Run {
	environ, _ := os.ReadFile(procDir(pid) + "environ")
	families.Lock()
	defer families.Unlock()
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		for _, r := range families.runs {
			if r.cfg.Mark != "" && string(entry) == r.cfg.Mark {
				return r
			}
		}
	}
	return nil
}

// groupedIn is the run under way of whose process group a process is, or nil.
// The first process leads it; a zombie is in it still.
func groupedIn(pid int) *Run {
	group, err := unix.Getpgid(pid)
	if err != nil {
		return nil
	}
	families.Lock()
	defer families.Unlock()
	return families.runs[group]
}

// adopted lists the children of the first thread that are no run's first
// process. Programs that other parts of the supervisor start are children of
// other threads, and theirs to wait for; where such a thread has ended they come
// here, too, and are told by being under no run's filter.
func adopted() []int {
	families.Lock()
	defer families.Unlock()
	var out []int
	for _, pid := range childrenOf(firstThread) {
		if families.runs[pid] == nil && filtersOf(pid, math.MaxInt) > ownFilters {
			out = append(out, pid)
		}
	}
	return out
}

// ownFilters is how many filters this process was started under.
var ownFilters = filtersOf(os.Getpid(), 0)

// filtersOf is how many filters a process is under, also where it has ended. A kernel
// before 5.9 does not tell.
func filtersOf(pid, unknown int) int {
	n, err := strconv.Atoi(statusField(pid, "Seccomp_filters"))
	if err != nil {
		return unknown
	}
	return n
}

// reaped takes note of a process whose status was read, by whoever read it.
func reaped(pid int, ws unix.WaitStatus) {
	families.Lock()
	defer families.Unlock()
	if r := families.runs[pid]; r != nil {
		r.conclude(ws)
	}
}

// conclude takes the status of the first process, with families locked. From
// here on its number may be another's.
func (r *Run) conclude(ws unix.WaitStatus) {
	if r.reaped {
		return
	}
	r.status, r.reaped = ws, true
	r.over()
}

// over says that the first process has ended, whether its status was read or
// not.
func (r *Run) over() { r.overOnce.Do(func() { close(r.exited) }) }

// unreaped is the number of the first process as long as it is nobody else's,
// else 0.
func (r *Run) unreaped() int {
	families.Lock()
	defer families.Unlock()
	if r.reaped {
		return 0
	}
	return r.pid
}

// watch waits for a run's first process. It leaves the status unread, so that
// the number stays ours until the end: reaping it is the last that a run does.
// (Before Linux 6.11 a dead process held on to the filter, and the end would
// never come.)
func (r *Run) watch() {
	if awaitExit(r.pid) && !receiveNeedsPoll {
		r.over()
		return
	}
	r.reapFirst()
}

// awaitExit waits until a process has ended, without reaping it, which a tracer
// among us may have to do. It reports whether it could.
func awaitExit(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, -1); err != unix.EINTR {
			return err == nil
		}
	}
}

// reapFirst reads the status of the first process, if nobody has.
func (r *Run) reapFirst() {
	pid := r.unreaped()
	if pid == 0 {
		return
	}
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(pid, &ws, 0, nil)
		if got == pid && !ws.Stopped() {
			reaped(pid, ws)
			return
		}
		if err != nil && err != unix.EINTR {
			return // a tracer among us has it
		}
	}
}

func init() {
	// The first thread is the main goroutine's alone: it is where orphans
	// arrive, and a thread that is given a filter must be able to end, which
	// the first one cannot.
	runtime.LockOSThread()
}

// reap is the main goroutine's work while body runs beside it.
func reap(body func() int) int {
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	done := make(chan int)
	go func() { done <- body() }()
	for {
		select {
		case code := <-done:
			return code
		case <-died:
			reapOrphans()
		}
	}
}

// reapOrphans reads the status of adopted processes that have ended. It asks
// for each by name: a wait for any child would take a stop that belongs to the
// thread of ours which traces it.
func reapOrphans() {
	for _, pid := range adopted() {
		if state := statusField(pid, "State"); state == "" || state[0] != 'Z' {
			continue
		}
		var ws unix.WaitStatus
		_, _ = unix.Wait4(pid, &ws, unix.WNOHANG, nil)
	}
}

// reapFamily reads the status of every process that the run has left behind.
// All have ended when it is called; each that is read hands its own dead
// children to us.
func (r *Run) reapFamily() {
	for {
		found := false
		for _, pid := range adopted() {
			if !r.owns(pid) {
				continue
			}
			if got, _ := unix.Wait4(pid, nil, 0, nil); got == pid {
				found = true
			}
		}
		if !found {
			return
		}
	}
}
