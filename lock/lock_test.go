//go:build unix

package lock

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"
)

func lockPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "run.lock")
}

func mustAcquire(t *testing.T, path string) *Lock {
	t.Helper()
	l, err := Acquire(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestAcquireRefusesWhateverExists(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	before, _ := os.ReadFile(path)
	for range 3 {
		_, err := Acquire(path, Options{})
		var held *HeldError
		if !errors.As(err, &held) || held.Token != l.Token() || held.State == Gone {
			t.Fatalf("got %v", err)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("a refused contender changed the record")
	}
	if err := l.Release(); err != nil || exists(path) {
		t.Errorf("release: %v, still there: %v", err, exists(path))
	}
	if err := mustAcquire(t, path).Release(); err != nil {
		t.Error(err)
	}
}

// fail makes one operation fail. What it stands for has happened, as far as it happens on a real disk.
var failures = []struct {
	name string
	make func(*system)
	says string
}{
	{"dup", func(s *system) {
		s.pin = func(*os.File) (*pin, error) { return nil, syscall.EMFILE }
	}, "dup PATH: too many open files"},
	{"write", func(s *system) {
		s.write = func(*os.File, []byte) (int, error) { return 0, syscall.ENOSPC }
	}, "write PATH: no space left on device"},
	{"short write", func(s *system) {
		s.write = func(f *os.File, b []byte) (int, error) { return f.Write(b[:7]) }
	}, "write PATH: short write: 7 of N bytes"},
	{"sync", func(s *system) {
		s.sync = func(f *os.File) error { return &os.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO} }
	}, "sync PATH: input/output error"},
	{"close", func(s *system) {
		s.close = func(f *os.File) error {
			return errors.Join(f.Close(), &os.PathError{Op: "close", Path: f.Name(), Err: syscall.EDQUOT})
		}
	}, "close PATH: disk quota exceeded"},
}

func failUnlink(s *system) {
	s.unlink = func(path string) error { return &os.PathError{Op: "unlink", Path: path, Err: syscall.EIO} }
}

// said is the errors one by one, with what varies between runs made alike.
func said(t *testing.T, err error, path string) []string {
	t.Helper()
	var many *multierror.Error
	if !errors.As(err, &many) {
		t.Fatalf("not a multierror: %v", err)
	}
	var lines []string
	for _, one := range many.Errors {
		line := strings.ReplaceAll(one.Error(), path, "PATH")
		if before, ok := strings.CutSuffix(line, " bytes"); ok {
			line = before[:strings.LastIndexByte(before, ' ')] + " N bytes"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRecordThatCannotBeWrittenIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			s := realSystem
			f.make(&s)
			_, err := s.acquire(path, Options{})
			if lines := said(t, err, path); len(lines) != 1 || lines[0] != f.says {
				t.Errorf("said %q, want %q", lines, f.says)
			}
			if exists(path) {
				t.Error("left behind")
			}
			if err := mustAcquire(t, path).Release(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRollbackThatFailsSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			s := realSystem
			f.make(&s)
			failUnlink(&s)
			var token string
			_, err := s.acquire(path, Options{Clear: func(t string) string { token = t; return "clear " + t }})
			want := []string{f.says, "unlink PATH: input/output error", "PATH is left behind; clear it with: clear " + token}
			if lines := said(t, err, path); strings.Join(lines, "\n") != strings.Join(want, "\n") {
				t.Errorf("said %q, want %q", lines, want)
			}
			_, err = Acquire(path, Options{})
			var held *HeldError
			if !errors.As(err, &held) || held.Token != token {
				t.Errorf("the next one is told %v, want the token %s", err, token)
			}
			if err := Break(path, token); err != nil || exists(path) {
				t.Errorf("what was to clear it does not: %v", err)
			}
		})
	}
}

func TestEveryFailureIsHandedUp(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	s := realSystem
	for _, f := range failures[1:] { // without dup, which ends it at once; the short write stands in for the write
		f.make(&s)
	}
	failUnlink(&s)
	_, err := s.acquire(path, Options{})
	lines := said(t, err, path)
	if len(lines) != 4 || strings.Contains(err.Error(), "\n") {
		t.Errorf("want short write, close, unlink, left: %q", lines)
	}
	for _, target := range []error{io.ErrShortWrite, syscall.EDQUOT, syscall.EIO} {
		if !errors.Is(err, target) {
			t.Errorf("%v is not in %v", target, err)
		}
	}
}

// Rolling back and releasing remove by path; by then the path may name what somebody else made.
func TestOnlyOursIsRemoved(t *testing.T) {
	t.Parallel()
	const other = "somebody else's\n"
	replace := func(t *testing.T, path string) {
		if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(other), 0o600)); err != nil {
			t.Error(err)
		}
	}
	check := func(t *testing.T, path string) {
		if b, _ := os.ReadFile(path); string(b) != other {
			t.Errorf("the other one's file is gone or changed: %q", b)
		}
	}
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		s := realSystem
		s.write = func(*os.File, []byte) (int, error) { replace(t, path); return 0, syscall.ENOSPC }
		if _, err := s.acquire(path, Options{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		check(t, path)
	})
	t.Run("release", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		l := mustAcquire(t, path)
		replace(t, path)
		if err := l.Release(); !errors.Is(err, ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
		check(t, path)
		if err := l.Release(); err != nil {
			t.Errorf("the second release: %v", err)
		}
	})
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		l := mustAcquire(t, path)
		if err := errors.Join(os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		if err := l.Release(); !errors.Is(err, ErrLost) {
			t.Errorf("got %v, want ErrLost", err)
		}
	})
}

// The file system gives a freed inode number to the next file at once. The pin is what keeps ours from being freed.
func TestInodeNumberIsNotReusedWhileHeld(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	for range 200 {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if named, err := l.pin.names(path); named || err != nil {
			t.Fatalf("another file passes for ours: %v, %v", named, err)
		}
	}
}

func TestReleaseCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	failUnlink(&l.sys)
	if err := l.Release(); !errors.Is(err, syscall.EIO) || !exists(path) {
		t.Fatalf("got %v", err)
	}
	l.sys = realSystem
	if err := l.Release(); err != nil || exists(path) {
		t.Errorf("got %v", err)
	}
}

// What Release could not remove, Break must be able to, though the process that tried still lives.
func TestBreakAfterAFailedRelease(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	failUnlink(&l.sys)
	if err := l.Release(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	if err := Break(path, l.Token()); err != nil || exists(path) {
		t.Errorf("got %v", err)
	}
	runtime.KeepAlive(l) // a lock that is collected closes its pin
}

func TestReleaseFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	l := mustAcquire(t, "run.lock")
	t.Chdir("/")
	if err := l.Release(); err != nil || exists(filepath.Join(dir, "run.lock")) {
		t.Errorf("got %v", err)
	}
}

func TestAcquireInADeletedDirectory(t *testing.T) {
	dir, path := t.TempDir(), lockPath(t)
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire("run.lock", Options{}); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("got %v", err)
	}
	if err := mustAcquire(t, path).Release(); err != nil {
		t.Error(err)
	}
}

func TestReleaseFromManyGoroutines(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			if err := l.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
}

func TestNeverTwoInside(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	var inside, entered atomic.Int32
	var g sync.WaitGroup
	for range 16 {
		g.Go(func() {
			for range 100 {
				l, err := Acquire(path, Options{Command: "test"})
				if err != nil {
					runtime.Gosched()
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two inside")
				}
				entered.Add(1)
				inside.Add(-1)
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

func TestDescriptorsAreClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts in /proc/self/fd")
	}
	path := lockPath(t)
	open := func() int { names, _ := os.ReadDir("/proc/self/fd"); return len(names) }
	round := func() {
		for _, f := range failures {
			s := realSystem
			f.make(&s)
			_, _ = s.acquire(path, Options{})
		}
		l := mustAcquire(t, path)
		_, _ = Acquire(path, Options{})
		_ = Break(path, newToken())
		_ = Break(path, l.Token())
		_ = l.Release()
	}
	round()
	before := open()
	for range 10 {
		round()
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
}

// A remover that was stopped between its look and its unlink holds the flock. It must not hold us for ever.
func TestWaitingHasALimit(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	l.sys.limit = 10 * time.Millisecond
	stopped, err := openForLook(path)
	if err != nil {
		t.Fatal(err)
	}
	p := &pin{f: stopped}
	if err := p.lock(Limit); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); !errors.Is(err, errBusy) || !exists(path) {
		t.Errorf("got %v", err)
	}
	if err := l.Release(); !errors.Is(err, errBusy) || !exists(path) { // which joins the wait
		t.Errorf("got %v", err)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	l.sys.limit = Limit
	if err := l.Release(); err != nil || exists(path) {
		t.Errorf("once the other one is gone: %v", err)
	}
}
