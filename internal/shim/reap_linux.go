package shim

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
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

func enroll(r *Run) {
	families.Lock()
	defer families.Unlock()
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

// adopted lists the children of the first thread that are no run's first
// process. Programs that other parts of the supervisor start are children of
// other threads, and theirs to wait for.
func adopted() []int {
	families.Lock()
	defer families.Unlock()
	var out []int
	for _, pid := range childrenOf(firstThread) {
		if families.runs[pid] == nil {
			out = append(out, pid)
		}
	}
	return out
}

// reaped takes note of a process whose status was read, by whoever read it.
func reaped(pid int, ws unix.WaitStatus) {
	families.Lock()
	defer families.Unlock()
	if r := families.runs[pid]; r != nil {
		r.conclude(ws)
	}
}

// conclude is called with families locked.
func (r *Run) conclude(ws unix.WaitStatus) {
	select {
	case <-r.exited:
	default:
		r.status = ws
		close(r.exited)
	}
}

// watch waits for a run's first process without reading its status, which a
// tracer among us may have to see first, and then reads it.
func watch(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(p, -1); err != unix.EINTR {
				break
			}
		}
	}
	var ws unix.WaitStatus
	if got, _ := unix.Wait4(pid, &ws, unix.WNOHANG, nil); got == pid {
		reaped(pid, ws)
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
