//go:build unix

package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultlab/fence"
	"faultlab/lock"
)

func lockPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "run.lock")
}

// With one client at a time every broken design does what it should: this is why its unit tests never found it.
func TestOneClientPasses(t *testing.T) {
	t.Parallel()
	for _, d := range append([]Design{Real, Flock}, All...) {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			path := lockPath(t)
			for range 3 {
				l, err := d.Acquire(path, lock.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if l.Token() == "" {
					t.Error("no token")
				}
				_, err = d.Acquire(path, lock.Options{})
				var held *lock.HeldError
				if !errors.As(err, &held) {
					t.Errorf("a second client: %v", err)
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			}
			if names, _ := filepath.Glob(path + "*"); len(names) > 1 || len(names) == 1 && d.Name != Flock.Name {
				t.Errorf("left %v", names)
			}
		})
	}
}

// What each design does to the lock that makes it broken, in one process; the scripts do it between two.
func TestWhatIsBroken(t *testing.T) {
	t.Parallel()
	t.Run("create-then-write removes an empty lock", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := createThenWrite.Acquire(path, lock.Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("link-then-reclaim takes the lock of a process that is gone", func(t *testing.T) {
		t.Parallel()
		gone := exec.Command("true")
		if err := gone.Run(); err != nil {
			t.Fatal(err)
		}
		path := lockPath(t)
		if err := os.WriteFile(path, fmt.Appendln(nil, gone.Process.Pid), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := linkThenReclaim.Acquire(path, lock.Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("no-rollback leaves what it could not write", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		f, err := os.Open(os.DevNull) // nothing can be written to it
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := (pidFile{path}).fill(f); err == nil {
			t.Error("no error")
		}
		if _, err := noRollback.Acquire(path, lock.Options{}); err == nil {
			t.Error("not wedged")
		}
	})
	t.Run("unlink-flock lets two in", func(t *testing.T) {
		t.Parallel()
		path := lockPath(t)
		late, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644) // a contender, just before its flock
		if err != nil {
			t.Fatal(err)
		}
		first, err := unlinkFlock.Acquire(path, lock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		if err := tryFlock(late); err != nil {
			t.Error(err)
		}
		if _, err := unlinkFlock.Acquire(path, lock.Options{}); err != nil {
			t.Errorf("the third is refused: %v", err)
		}
	})
}

func TestSharedTokenTakesAnothers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, err := fence.OpenGrantor(filepath.Join(dir, "l.db"), fence.VirtualClock())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { _ = http.Serve(l, fence.NewHandler(g)) }()
	c, s := fence.Client{Socket: l.Addr().String()}, fence.Store{Path: filepath.Join(dir, "s.db")}
	own, err := g.Grant("data", "one", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := func(n uint64) {
		t.Helper()
		if got, err := sharedToken.Token(own, c, s); err != nil || got.N != n {
			t.Errorf("got %v, want %d: %v", got, n, err)
		}
		if got, err := Real.Token(own, c, s); err != nil || got != own.Token {
			t.Errorf("the real one: %v, %v", got, err)
		}
	}
	want(1) // alone, as it should be
	if _, err := g.Advance(time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Grant("data", "two", time.Second); err != nil {
		t.Fatal(err)
	}
	want(2) // a lease that runs
	if err := s.Put("k", fence.Token{Grantor: g.ID(), N: 3}, nil); err != nil {
		t.Fatal(err)
	}
	want(3) // one that was used
}

// The repository is not where the test runs, but above it.
func TestCwdGuardIsFooled(t *testing.T) {
	t.Parallel()
	if err := cwdGuard.Outside("mutant_test.go"); err == nil {
		t.Error("not even what lies here is refused")
	}
	if err := cwdGuard.Outside("../../go.mod"); err != nil {
		t.Errorf("not fooled: %v", err)
	}
}

func TestByName(t *testing.T) {
	t.Parallel()
	for _, d := range All {
		if got, err := ByName(d.Name); err != nil || got.About != d.About || d.About == "" {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	if _, err := ByName("x"); err == nil || !strings.Contains(err.Error(), "want one of create-then-write, cwd-guard, ") {
		t.Errorf("got %v", err)
	}
}

// Every fix applies to its file as it stands, and what comes of it compiles.
func TestFixesApply(t *testing.T) {
	t.Parallel()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := t.TempDir()
	for _, d := range All {
		file := strings.ReplaceAll(d.Name, "-", "_") + ".go"
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := apply(string(source), d.Fix)
		if err != nil {
			t.Errorf("%s: %v", d.Name, err)
			continue
		}
		here, _ := filepath.Abs(file)
		overlay.Replace[here] = filepath.Join(dir, file)
		if err := os.WriteFile(overlay.Replace[here], []byte(fixed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	content, _ := json.Marshal(overlay)
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, content, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", list, ".").CombinedOutput(); err != nil {
		t.Errorf("with all fixes: %v\n%s", err, out)
	}
}

// The documentation names each design in the score, and prints the fix that is kept here.
func TestDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range All {
		if !strings.Contains(string(page), "\n| `"+d.Name+"` | `") {
			t.Errorf("%s is not in the score", d.Name)
		}
		if !strings.Contains(string(page), "\n```diff"+d.Fix+"```\n") {
			t.Errorf("%s: the fix is not printed as it is kept", d.Name)
		}
	}
}

// apply replaces the - lines of fix, which stand together in source, by the + lines.
func apply(source, fix string) (string, error) {
	var old, fresh strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(fix, "\n")) {
		switch {
		case strings.HasPrefix(line, "-"):
			old.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			fresh.WriteString(line[1:])
		default:
			return "", fmt.Errorf("neither - nor +: %q", line)
		}
	}
	if old.Len() == 0 || strings.Count(source, "\n"+old.String()) != 1 {
		return "", fmt.Errorf("these lines do not stand there once:\n%s", old.String())
	}
	return strings.Replace(source, "\n"+old.String(), "\n"+fresh.String(), 1), nil
}
