//go:build unix

package lock

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func mustInspect(t *testing.T, path string) Status {
	t.Helper()
	s, err := Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBreakClearsWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	whole := newRecord(designCreate, Options{}).line()
	for name, content := range map[string][]byte{
		"record": whole, "empty": nil, "half": whole[:len(whole)/2], "all but the newline": whole[:len(whole)-1],
		"foreign": []byte("12345\n"), "binary": {0, 1, 2, 255}, "large": make([]byte, maxRecord+10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			seen := mustInspect(t, path)
			if err := CheckToken(seen.Token); err != nil {
				t.Fatal(err)
			}
			if err := Break(path, seen.Token); err != nil || exists(path) {
				t.Errorf("got %v, still there: %v", err, exists(path))
			}
			if err := Break(path, seen.Token); !errors.Is(err, ErrNotHeld) {
				t.Errorf("the second operator gets %v, want ErrNotHeld", err)
			}
		})
	}
}

func TestBreakLeavesAnotherLock(t *testing.T) {
	t.Parallel()
	whole := newRecord(designCreate, Options{}).line()
	write := func(b []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	renew := func(b []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(b)(t, path)
		}
	}
	rows := []struct {
		name         string
		first, later func(*testing.T, string)
	}{
		{"record, then another record", write(whole), renew(newRecord(designCreate, Options{}).line())},
		{"record, then a half-made one", write(whole), renew(whole[:20])},
		{"half-made, then completed", write(whole[:20]), write(whole)},
		{"half-made, then longer", write(whole[:20]), write(whole[:40])},
		{"half-made, then a new half-made one", write(nil), renew(whole[:10])},
		{"half-made, then written again", write(whole[:20]), again(write(whole[:20]))},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			row.first(t, path)
			seen := mustInspect(t, path)
			row.later(t, path)
			var changed *ChangedError
			if err := Break(path, seen.Token); !errors.As(err, &changed) || !exists(path) {
				t.Fatalf("got %v, still there: %v", err, exists(path))
			}
			if changed.Now.Token != mustInspect(t, path).Token {
				t.Errorf("names %+v", changed.Now)
			}
		})
	}
}

// again writes until the clock of the file system has moved on: it ticks in milliseconds on older kernels.
func again(write func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		for seen := mustInspect(t, path); seen.Token == mustInspect(t, path).Token; {
			write(t, path)
		}
	}
}

func TestBreakWantsAToken(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	good := l.Token()
	for _, token := range []string{"", " ", "12", good[1:], good + "0", strings.ToUpper(good[:31]) + "F", "x" + good[1:],
		"inode:1:2:3", "inode:1:2:3:4:5", "inode:a:b:c:d", good + "\n"} {
		if err := Break(path, token); !errors.Is(err, ErrToken) || !exists(path) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

func TestBreakOfALiveLockIsNoticedByItsHolder(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	if err := Break(path, l.Token()); err != nil {
		t.Fatal(err)
	}
	next := mustAcquire(t, path)
	if err := l.Release(); !errors.Is(err, ErrLost) {
		t.Errorf("the old holder is told %v", err)
	}
	if err := next.Release(); err != nil {
		t.Errorf("the next holder lost its lock to the old one: %v", err)
	}
}

// While the record is being written, Break waits, and then it is another lock than the one that was looked at.
func TestBreakOfALockThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	s := realSystem
	broken := make(chan error, 1)
	s.write = func(f *os.File, b []byte) (int, error) {
		seen := mustInspect(t, path)
		if seen.State != HalfMade {
			t.Errorf("seen %+v", seen)
		}
		go func() { broken <- Break(path, seen.Token) }()
		waitForFlockWaiter(t, f)
		return writeOnce(f, b)
	}
	l, err := s.acquire(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var changed *ChangedError
	if err := <-broken; !errors.As(err, &changed) {
		t.Errorf("Break: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Errorf("the holder: %v", err)
	}
}

// Between the create and the flock nothing protects the writer. It must notice, and not touch what came after it.
func TestBreakBeforeTheWriterHasItsFlock(t *testing.T) {
	t.Parallel()
	for _, next := range []bool{false, true} {
		path := lockPath(t)
		s := realSystem
		var later *Lock
		s.pin = func(f *os.File) (*pin, error) {
			if err := Break(path, mustInspect(t, path).Token); err != nil {
				t.Error(err)
			}
			if next {
				later = mustAcquire(t, path)
			}
			return newPin(f)
		}
		if _, err := s.acquire(path, Options{}); !errors.Is(err, ErrLost) {
			t.Errorf("the writer is told %v, want ErrLost", err)
		}
		if next {
			if err := later.Release(); err != nil {
				t.Errorf("the lock that came after it: %v", err)
			}
		}
	}
}

// Two operators clear the same dead lock while somebody waits to acquire: the fresh lock must survive.
func TestTwoBreaksAndANewLock(t *testing.T) {
	t.Parallel()
	for range 100 {
		path := lockPath(t)
		dead := mustAcquire(t, path)
		token := dead.Token()
		_ = dead.pin.close() // as the kernel does when the holder dies
		var cleared atomic.Int32
		var g sync.WaitGroup
		for range 3 {
			g.Go(func() {
				err := Break(path, token)
				var changed *ChangedError
				switch {
				case err == nil:
					cleared.Add(1)
				case !errors.Is(err, ErrNotHeld) && !errors.As(err, &changed):
					t.Error(err)
				}
			})
		}
		var fresh *Lock
		g.Go(func() {
			for fresh == nil {
				fresh, _ = Acquire(path, Options{Command: "test"})
			}
		})
		g.Wait()
		if cleared.Load() != 1 {
			t.Fatalf("cleared %d times", cleared.Load())
		}
		if err := fresh.Release(); err != nil {
			t.Fatalf("the fresh lock was removed: %v", err)
		}
	}
}

// The file that was opened lost its name before the flock was there: whatever the path names now was not looked at.
func TestBreakTooLate(t *testing.T) {
	t.Parallel()
	mine := newRecord(designCreate, Options{})
	other := newRecord(designCreate, Options{})
	var changed *ChangedError
	rows := []struct {
		name  string
		there []byte // nil: nothing
		right func(error) bool
	}{
		{"nothing", nil, func(err error) bool { return errors.Is(err, ErrNotHeld) }},
		{"another lock", other.line(), func(err error) bool {
			return errors.As(err, &changed) && changed.Now.Token == other.Token
		}},
		{"a copy", mine.line(), func(err error) bool { return errors.As(err, &changed) }},
	}
	for _, row := range rows {
		path := lockPath(t)
		if err := os.WriteFile(path, mine.line(), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := openForLook(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if row.there != nil {
			if err := os.WriteFile(path, row.there, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := (&pin{f: f}).breakIf(path, mine.Token); !row.right(err) || exists(path) != (row.there != nil) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

func TestBreakDoesNotFollowALink(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	l := mustAcquire(t, path)
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Break(link, l.Token()); !errors.Is(err, syscall.ELOOP) || !exists(path) || !exists(link) {
		t.Errorf("got %v", err)
	}
}

func TestBreakOfNothingAndOfOtherThings(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	if err := Break(path, newToken()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("nothing there: %v", err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	var pathErr *fs.PathError
	if err := Break(path, newToken()); !errors.As(err, &pathErr) || !exists(path) {
		t.Errorf("a directory: %v", err)
	}
}
