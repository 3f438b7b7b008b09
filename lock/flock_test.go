//go:build unix

package lock

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func mustFlock(t *testing.T, path string) *Flock {
	t.Helper()
	l, err := AcquireFlock(path, Options{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestFlockLoserDamagesNothing(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustFlock(t, path)
	before, _ := os.ReadFile(path)
	_, err := AcquireFlock(path, Options{})
	var held *HeldError
	if !errors.As(err, &held) || held.Record.Token != l.Token() || held.State == Free {
		t.Errorf("got %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) || len(after) == 0 {
		t.Errorf("the record was %q and is %q", before, after)
	}
	for range 2 {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
		t.Errorf("after the release: %q, %v", b, err)
	}
	if err := mustFlock(t, path).Release(); err != nil {
		t.Error(err)
	}
}

// A child that was forked and has not reached its exec has every descriptor, close-on-exec or not.
func TestFlockIsFreeThoughAChildHasTheDescriptor(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustFlock(t, path)
	child, err := unix.Dup(int(l.f.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if err := mustFlock(t, path).Release(); err != nil {
		t.Error(err)
	}
}

func TestFlockOverAnOldLongerRecord(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	old := newRecord(designFlock, Options{Command: "a command that is longer than the next one's"})
	if err := os.WriteFile(path, old.line(), 0o644); err != nil {
		t.Fatal(err)
	}
	l := mustFlock(t, path)
	if s := mustInspect(t, path); s.Record.Token != l.Token() {
		t.Errorf("reads as %+v", s)
	}
}

// A file that lost its name after it was opened must not count as locked.
func TestFlockComparesWhatItLocked(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	f, err := openFlock(path)
	if err != nil || !f.named() {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if f.named() {
		t.Error("a removed file passes")
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if f.named() {
		t.Error("another file passes")
	}
}

func TestFlockStartsOver(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	var other *Flock
	rounds := 0
	_, err := acquireFlock(path, Options{}, func(path string) (*flockFile, error) {
		f, err := openFlock(path)
		if rounds++; rounds == 1 { // somebody removes the file, and a third one makes and locks another
			_ = os.Remove(path)
			other = mustFlock(t, path)
		}
		return f, err
	})
	var held *HeldError
	if !errors.As(err, &held) || rounds != 2 {
		t.Errorf("got %v after %d rounds: two are inside", err, rounds)
	}
	if err := other.Release(); err != nil {
		t.Error(err)
	}
	_, err = acquireFlock(path, Options{}, func(path string) (*flockFile, error) {
		f, err := openFlock(path)
		_ = os.Remove(path)
		return f, err
	})
	if err == nil || errors.As(err, &held) {
		t.Errorf("removed for ever: %v", err)
	}
}

// Many take the lock while somebody keeps removing the file between two holders: R08, from both sides.
func TestFlockNeverTwoInside(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	var inside, entered atomic.Int32
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for range 200 {
				l, err := AcquireFlock(path, Options{Command: "test"})
				if err != nil {
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two inside")
				}
				inside.Add(-1)
				if entered.Add(1)%3 == 0 {
					_ = os.Remove(path) // as unlink-flock does on release
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	g.Wait()
	if entered.Load() == 0 {
		t.Error("nobody ever entered")
	}
}

func TestTheTwoDesignsRefuseEachOther(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	_, err := AcquireFlock(path, Options{})
	var held *HeldError
	if !errors.As(err, &held) || held.Token != l.Token() {
		t.Errorf("flock over create: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	f := mustFlock(t, path)
	if _, err := Acquire(path, Options{}); !errors.As(err, &held) {
		t.Errorf("create over flock: %v", err)
	}
	if err := f.Release(); err != nil {
		t.Error(err)
	}
}

func TestBreakLeavesAFlockFile(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustFlock(t, path)
	_ = l.f.close() // its holder dies
	if err := Break(path, l.Token()); !errors.Is(err, errKernelFrees) || !exists(path) {
		t.Errorf("got %v", err)
	}
}

func TestInspectFlock(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	state := func() State {
		s, err := InspectFlock(path)
		if err != nil || s.Token != "" {
			t.Errorf("%+v, %v", s, err)
		}
		return s.State
	}
	if got := state(); got != Free {
		t.Errorf("no file: %s", got)
	}
	l := mustFlock(t, path)
	if got := state(); got == Free {
		t.Errorf("held: %s", got)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if got := state(); got != Free {
		t.Errorf("released: %s", got)
	}
}
