//go:build linux

package shim

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The program may be killed at its first operation while the thread that starts it has
// not yet come back: that thread's own calls are let go on all the same.
func TestLauncherIsAnsweredAfterAKill(t *testing.T) {
	t.Parallel()
	r := newRun(Config{Tree: t.TempDir()}, t.TempDir())
	r.killed = true
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		prog, err := filter([]call{*callOf(unix.SYS_CLOSE)})
		if err != nil {
			done <- err
			return
		}
		r.launcher = unix.Gettid()
		go r.serve()
		r.listener, err = install(prog)
		r.installed.Store(true)
		if err != nil {
			done <- err
			return
		}
		done <- unix.Close(-1)
	}()
	select {
	case err := <-done:
		if err != unix.EBADF {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a call of the thread that starts the program is not answered")
	}
}

// What was started too late for anybody to wait for it is ended.
func TestWhatComesTooLateIsEnded(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, err := Start(Command{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Dir: "/", Stdin: null, Stdout: null, Stderr: null}, Config{Tree: t.TempDir()})
	if IsVoid(err) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	launched := make(chan error, 1)
	launched <- nil
	r.disown(launched)
	if _, err := r.Wait(Limits{Timeout: 10 * time.Second, Grace: time.Second}); err != nil {
		t.Error(err)
	}
}

// A program that another part of us has started comes to the first thread when the one
// that started it ends. It is nobody's orphan, and its status theirs who wait for it.
func TestOurOwnChildrenAreNoOrphans(t *testing.T) {
	ours := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exec sleep 1000"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			t.Error(err)
		}
		ours <- pid
	}()
	pid := <-ours
	deadline := time.Now().Add(10 * time.Second)
	for !slices.Contains(childrenOf(firstThread), pid) {
		if time.Now().After(deadline) {
			t.Fatalf("%d has not come to the first thread", pid)
		}
		runtime.Gosched()
	}
	if slices.Contains(adopted(), pid) {
		t.Error("it counts as adopted")
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	for !strings.HasPrefix(statusField(pid, "State"), "Z") && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	reapOrphans()
	var ws unix.WaitStatus
	if got, err := unix.Wait4(pid, &ws, 0, nil); got != pid {
		t.Errorf("its status was taken: %v", err)
	}
}
