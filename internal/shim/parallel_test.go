//go:build linux

package shim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/shim"
)

// ties are what can tie a process to its run that has left its family and made
// no trapped call. (Most shells are known by the handlers that they set.)
var ties = []string{"group", "mark"}

// startStray starts a run and returns it with the process that it leaves.
func startStray(t *testing.T, args ...string) (*shim.Run, int) {
	t.Helper()
	dir := t.TempDir()
	mark := "SHIM_TEST_MARK=" + dir
	null := open(t, os.DevNull)
	run, err := shim.Start(shim.Command{Path: needSubject(t), Args: append([]string{"subject", "stray"}, args...), Dir: dir,
		Env: append(os.Environ(), mark), Stdin: null, Stdout: null, Stderr: null},
		shim.Config{Tree: dir, Calls: []string{"symlinkat"}, Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	var stray int
	await(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		stray, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return stray != 0
	})
	return run, stray
}

func living(pid int) bool { s := stateOf(pid); return s != 0 && s != 'Z' }

// Each of two runs at once ends and names what it has left behind, and nothing
// of the other's.
func TestOrphansOfTwoRuns(t *testing.T) {
	for _, tie := range ties {
		t.Run(tie, func(t *testing.T) {
			a, strayA := startStray(t, tie)
			b, strayB := startStray(t, tie)
			checkOrphan(t, a, strayA)
			if !living(strayB) {
				t.Error("the end of one run ended the other one's process")
			}
			checkOrphan(t, b, strayB)
		})
	}
}

func checkOrphan(t *testing.T, run *shim.Run, stray int) {
	t.Helper()
	exit, err := run.Wait(shim.Limits{Timeout: 30 * time.Second, Grace: 20 * time.Millisecond})
	if want := fmt.Sprintf("%d subject", stray); err != nil || len(exit.Orphans) != 1 || exit.Orphans[0] != want {
		t.Errorf("orphans %q, %v; want %q", exit.Orphans, err, want)
	}
	if stateOf(stray) != 0 {
		t.Errorf("process %d of the run is there still", stray)
	}
}

func TestKillOfOneRun(t *testing.T) {
	for _, tie := range ties {
		t.Run(tie, func(t *testing.T) {
			a, strayA := startStray(t, tie, "stays")
			b, strayB := startStray(t, tie, "stays")
			a.Kill()
			await(t, func() bool { return !living(strayA) && !living(a.Pid()) })
			if !living(strayB) || !living(b.Pid()) {
				t.Errorf("the other run lives: %t, and its stray: %t", living(b.Pid()), living(strayB))
			}
			b.Kill()
			for _, run := range []*shim.Run{a, b} {
				if exit, err := run.Wait(shim.Limits{}); err != nil || exit.Signal != unix.SIGKILL {
					t.Errorf("%+v, %v", exit, err)
				}
			}
		})
	}
}

// Many runs beside each other leave nothing in the supervisor, and none sees
// another's operations.
func TestManyRuns(t *testing.T) {
	const runs, lanes = 200, 4
	several(t, lanes, lanes) // whatever is made once
	await(t, func() bool { return countDir("/proc/self/task") < 64 })
	fds, threads := countDir("/proc/self/fd"), countDir("/proc/self/task")
	others := len(ownChildren()) // that other tests have left, and are no run's
	several(t, runs, lanes)
	// Threads that wait for the runtime's next use are not leaks; runs that
	// each left one would be hundreds.
	const spare = 16
	await(t, func() bool { return countDir("/proc/self/task") < threads+spare })
	await(t, func() bool { return countDir("/proc/self/fd") <= fds }) // who watched an end closes his own a moment later
	await(t, func() bool { return len(ownChildren()) <= others })
}

// several supervises n programs, in so many lanes.
func several(t *testing.T, n, lanes int) {
	t.Helper()
	bare, err := exec.Command("sh", "-c", "ls /proc/self/fd | wc -l").Output()
	if err != nil {
		t.Fatal(err)
	}
	fds, _ := strconv.Atoi(strings.TrimSpace(string(bare)))
	next := make(chan int)
	var all sync.WaitGroup
	for range lanes {
		all.Go(func() {
			for i := range next {
				superviseOne(t, i, fds)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// superviseOne supervises one program; those that say so with their status see
// fds descriptors.
func superviseOne(t *testing.T, i, fds int) {
	dir, err := os.MkdirTemp("", "shim-many-")
	if err != nil {
		t.Error(err)
		return
	}
	defer os.RemoveAll(dir)
	script, code, want := "exec true", 0, ""
	if i%2 == 0 {
		// A descriptor of another run's would be handed down here.
		script, code = "mkdir d; mkdir e; echo x > d/f & wait; exit $(ls /proc/self/fd | wc -l)", fds
		want = "mkdir d 1|mkdir e 1|create d/f 1"
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer null.Close()
	var seen log
	mark := "SHIM_TEST_MARK=" + dir
	run, err := shim.Start(shim.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: dir,
		Env: append(os.Environ(), mark), Stdin: null, Stdout: null, Stderr: null},
		shim.Config{Tree: dir, Calls: []string{"mkdir", "mkdirat", "open", "openat"}, Observer: &seen, Mark: mark})
	if err != nil {
		t.Error(err)
		return
	}
	exit, err := run.Wait(shim.Limits{Timeout: 30 * time.Second, Grace: 5 * time.Second})
	if got := strings.Join(seen.lines, "|"); err != nil || exit.Code != code || got != want {
		t.Errorf("run %d: %+v, %v, saw %q, want %q", i, exit, err, got, want)
	}
}

func countDir(name string) int {
	entries, _ := os.ReadDir(name)
	return len(entries)
}

// ownChildren are the processes, zombies too, that any thread here has to wait
// for.
func ownChildren() []string {
	var out []string
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		out = append(out, strings.Fields(string(text))...)
	}
	return out
}
