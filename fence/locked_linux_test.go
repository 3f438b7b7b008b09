package fence

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A store that another process is in says by whom, running or stopped.
func TestLockedSaysByWhom(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db"), LockWait: 60 * time.Millisecond}
	if err := s.Put("k", tok(1), []byte("old")); err != nil {
		t.Fatal(err)
	}
	c := start(t, "hold", s.Path)
	c.line(t)
	locked := wantError[*LockedError](t, s.Put("k", tok(2), nil), "open "+s.Path, fmt.Sprintf("pid %d (fence.test)", c.Process.Pid), "waited")
	if locked.Holder.Stopped {
		t.Error("says that it is stopped, and it runs")
	}
	_, err := s.Get("k")
	wantError[*LockedError](t, err)
	c.Process.Signal(syscall.SIGSTOP)
	waitStopped(t, c.Process.Pid)
	wantError[*LockedError](t, s.Put("k", tok(2), nil), "which is stopped", fmt.Sprintf("kill -CONT %d", c.Process.Pid))
	c.kill()
	if err := s.Put("k", tok(2), nil); err != nil {
		t.Errorf("after the holder's death: %v", err)
	}
}

// waitStopped waits for the stop itself, which the kernel reports to the parent.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
		t.Fatalf("wait for the stop: %v, status %v", err, ws)
	}
}
