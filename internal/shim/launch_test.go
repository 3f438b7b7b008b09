//go:build linux

package shim

import (
	"runtime"
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
		if err == nil {
			r.listener, err = install(prog)
		}
		if err != nil {
			done <- err
			return
		}
		r.launcher = unix.Gettid()
		go r.serve()
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
