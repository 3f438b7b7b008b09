//go:build linux

package shim_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/shim"
)

// gate takes operations of some kinds and hands them out.
type gate struct {
	takes op.Set
	held  chan *shim.Ticket
}

func (g *gate) Arrived(t *shim.Ticket) bool {
	if !g.takes.Has(t.Op.Kind) || filepath.IsAbs(t.Op.Path) {
		return false
	}
	g.held <- t
	return true
}

// gated starts a shell script in a directory, with a gate before some kinds.
func gated(t *testing.T, dir, script string, kinds ...op.Kind) (*shim.Run, *gate) {
	t.Helper()
	g := &gate{op.SetOf(kinds...), make(chan *shim.Ticket, 16)}
	mark := "SHIM_TEST_ACTOR=" + script
	run, err := shim.Start(
		shim.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: dir, Env: append(os.Environ(), mark),
			Stdin: open(t, os.DevNull), Stdout: open(t, os.DevNull), Stderr: open(t, os.DevNull)},
		shim.Config{Tree: dir, Actor: 'A', Calls: op.Calls(op.All), Gate: g, Mark: mark})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		run.Kill()
		_, _ = run.Wait(shim.Limits{Timeout: time.Minute, Grace: time.Second})
	})
	return run, g
}

func (g *gate) next(t *testing.T) *shim.Ticket {
	t.Helper()
	select {
	case ticket := <-g.held:
		return ticket
	case <-time.After(30 * time.Second):
		t.Fatal("no operation comes")
		return nil
	}
}

// becomes waits until something holds.
func becomes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for tick := time.Tick(time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-late:
			t.Fatalf("%s: not within 30s", what)
		}
	}
}

func TestHeldOperationIsLookedAtAgain(t *testing.T) {
	dir := t.TempDir()
	_, g := gated(t, dir, ": > f", op.Create)
	ticket := g.next(t)
	for _, step := range []struct {
		text string
		kind op.Kind
		size int64
	}{
		{"", op.Open, 0}, // cut off though empty: whoever writes before it would see that
		{"text", op.Truncate, 0},
	} {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(step.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if ticket.Renew(); ticket.Op.Kind != step.kind || ticket.Op.Size != step.size || !ticket.Op.Exists {
			t.Errorf("with %q in it the create is %+v, want %v with size %d", step.text, ticket.Op, step.kind, step.size)
		}
	}
	if err := os.Remove(filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	if ticket.Renew(); ticket.Op.Kind != op.Create || ticket.Op.Exists {
		t.Errorf("removed again: %+v, want a create", ticket.Op)
	}
	ticket.Go()
	becomes(t, "f is made", func() bool { _, err := os.Stat(filepath.Join(dir, "f")); return err == nil })
}

// TestLockIsFreeWithItsLastProcess hands a lock of flock(1) on, which has ended
// by then: the shell that has the open file holds it.
func TestLockIsFreeWithItsLastProcess(t *testing.T) {
	if _, err := os.Stat("/usr/bin/flock"); err != nil {
		need(t, "flock(1)")
	}
	for range 10 {
		dir := t.TempDir()
		a, held := gated(t, dir, "exec 9>>l; flock 9; mkdir inside; exit", op.Lock, op.Mkdir)
		if lock := held.next(t); lock.Blocked() != "" {
			t.Fatalf("nobody has the lock, and %s is in the way", lock.Blocked())
		} else {
			lock.Go()
		}
		inside := held.next(t)
		b, waits := gated(t, dir, "exec 9>>l; flock 9", op.Lock)
		lock := waits.next(t)
		if lock.Blocked() == "" || lock.BlockedBy(b, a) != a {
			t.Fatalf("blocked by %q, want A", lock.Blocked())
		}
		becomes(t, "B is at rest", func() bool { return b.Quiet(map[int]bool{lock.Op.Tid: true}) })
		inside.Go()
		becomes(t, "A has ended", func() bool { return a.Quiet(nil) })
		if who := lock.Blocked(); who != "" {
			t.Fatalf("A has ended, and %s is in the way", who)
		}
		lock.Go()
		becomes(t, "B has ended", func() bool { return b.Quiet(nil) })
	}
}

func TestQuiet(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		quiet        bool
	}{
		{"waits for a pipe", "mkfifo p; mkdir here; read x <p", true},
		{"waits for a child that does", "mkfifo p; mkdir here; (read x <p); :", true},
		{"runs", "mkdir here; while :; do :; done", false},
		{"sleeps for a while", "mkdir here; exec sleep 15", false},
		{"sleeps for long", "mkdir here; exec sleep 60", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run, g := gated(t, t.TempDir(), tt.script, op.Mkdir)
			here := g.next(t)
			becomes(t, "at rest at the gate", func() bool { return run.Quiet(map[int]bool{here.Op.Tid: true}) })
			here.Go()
			if tt.quiet {
				becomes(t, "at rest", func() bool { return run.Quiet(nil) })
				return
			}
			for range 200 {
				if run.Quiet(nil) {
					t.Fatal("at rest, and is not")
				}
			}
		})
	}
}

// TestRecordLocks asks about fcntl locks of this very process, and of ranges.
func TestRecordLocks(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		need(t, "python3")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ours := unix.Flock_t{Type: unix.F_WRLCK, Start: 10, Len: 10}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &ours); err != nil {
		t.Fatal(err)
	}
	script := "exec /usr/bin/python3 -c 'import fcntl; f=open(\"l\",\"r+\"); [fcntl.lockf(f, fcntl.LOCK_EX, n, at) for n, at in ((10,0),(1,19),(5,20))]'"
	_, g := gated(t, dir, script, op.Lock)
	for _, blocked := range []bool{false, true, false} {
		ticket := g.next(t)
		if got := ticket.Blocked() != ""; got != blocked {
			t.Errorf("blocked: %v, want %v", got, blocked)
		}
		if blocked {
			ours.Type = unix.F_UNLCK
			if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &ours); err != nil {
				t.Fatal(err)
			}
			if who := ticket.Blocked(); who != "" {
				t.Errorf("unlocked, and %s is in the way", who)
			}
		}
		ticket.Go()
	}
}
