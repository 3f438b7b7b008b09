//go:build linux

package trial

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

func TestMain(m *testing.M) {
	os.Exit(shim.Main(m.Run))
}

// newRunner runs a shell script, given as text, in copies of a tree that the
// setup makes.
func newRunner(t *testing.T, script string, change func(*Spec)) *Runner {
	t.Helper()
	spec := Spec{Program: "/bin/sh", Args: []string{"sh", "-c", script}, Timeout: 20 * time.Second, Jobs: 2}
	if change != nil {
		change(&spec)
	}
	r, err := New(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.space.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", r.space.Dir(), err)
		}
	})
	return r
}

// controls runs the controls, or skips where the kernel cannot.
func controls(t *testing.T, r *Runner) *Controls {
	t.Helper()
	c, err := r.Control(t.Context(), Case{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ruled(t *testing.T, text string) Case {
	t.Helper()
	r, err := rule.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return Case{Choice: text, Rules: []rule.Rule{r}, Watch: op.Calls(op.SetOf(op.Sync, op.Write))}
}

// What the controls teach: names and contents that vary, what is changed and
// what is only read, and how a second run ends.
func TestControls(t *testing.T) {
	t.Parallel()
	r := newRunner(t, `test ! -e done || exit 4; cat input > tmp.$$; date +%s%N >> stamp; mv tmp.$$ done; : > log.$$`,
		func(s *Spec) { s.Setup = "echo in > input; echo 0 > stamp" })
	c := controls(t, r)
	if c.Once.Status != 0 || c.Twice.Status != 4 || c.Exclusive {
		t.Errorf("once %d, twice %d, exclusive %v", c.Once.Status, c.Twice.Status, c.Exclusive)
	}
	if !c.Volatile["stamp"] || c.Kept["stamp"] || c.Volatile["done"] {
		t.Errorf("volatile %v, kept %v", c.Volatile, c.Kept)
	}
	for path, want := range map[string]bool{"input": false, "tmp.{1}": true, "done": true, "stamp": true, "log.{1}": true, ".": true} {
		if c.Changed[path] != want {
			t.Errorf("changed %s: %v, of %v", path, c.Changed[path], c.Changed)
		}
	}
	for _, path := range []string{"done", "stamp", "log.{1}"} {
		if _, ok := c.Once.Tree[path]; !ok {
			t.Errorf("%s is not in %v", path, c.Once.Tree)
		}
	}
}

// A program that changes a fixed place outside runs one at a time.
func TestControlsExclusive(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "lock")
	r := newRunner(t, "mkdir "+lock+" && rmdir "+lock, func(s *Spec) { s.Allow = []string{lock} })
	if c := controls(t, r); !c.Exclusive || c.Once.Status != 0 {
		t.Errorf("exclusive %v, status %d", c.Exclusive, c.Once.Status)
	}
}

// One case and what it shows; the copy is clean for the next one.
func TestDo(t *testing.T) {
	t.Parallel()
	r := newRunner(t, `set -e; : > lock; echo data > state; rm lock`, func(s *Spec) { s.Jobs = 1; s.Check = `echo checked $FAULTFS_STATUS` })
	c := controls(t, r)
	for range 2 {
		run, err := r.Do(t.Context(), ruled(t, "write path=./state do fail ENOSPC"))
		if err != nil {
			t.Fatal(err)
		}
		if run.Subject.Status() != 2 && run.Subject.Status() != 1 || run.Next.Status() != 0 || !strings.HasPrefix(run.Check.Stdout, "checked ") {
			t.Errorf("%d, %d, %q", run.Subject.Status(), run.Next.Status(), run.Check.Stdout)
		}
		if len(run.Tree) != 2 || !run.Tree["state"].Empty() || len(run.Names) != 2 {
			t.Errorf("left %v, %q", run.Tree, run.Names)
		}
		if j := r.Judge(c.Control, run); j.Finding || j.Verdict.String() != "healed" {
			t.Errorf("%v: %s", j.Verdict, j.Detail)
		}
	}
	if _, err := r.Do(t.Context(), ruled(t, "write path=./other do fail ENOSPC")); !errors.Is(err, ErrUnreached) {
		t.Errorf("a rule that does not fire: %v", err)
	}
	run, err := r.Do(t.Context(), ruled(t, "create path=./state do kill"))
	if err != nil || !run.Subject.ByRule || len(run.Tree) != 1 {
		t.Errorf("killed: %+v, %v", run, err)
	}
}

// What keeps a program from removing its file excuses it; what keeps it from
// renaming it does not.
func TestStuck(t *testing.T) {
	t.Parallel()
	r := newRunner(t, `echo x > tmp; mv tmp state || { rm -f tmp; exit 1; }; rm state`, nil)
	controls(t, r)
	for text, want := range map[string]string{
		"rename path=./tmp do fail EIO": "", "rename path=./tmp do fail EIO stay": "tmp", "unlink path=./state do fail EIO": "state",
	} {
		run, err := r.Do(t.Context(), ruled(t, text))
		if err != nil || strings.Join(run.Stuck, " ") != want {
			t.Errorf("%s: stuck %q, %v", text, run.Stuck, err)
		}
	}
}

// A sync that fails is lost until the data was written and synced again.
func TestLostSync(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`dd if=/dev/zero of=f bs=1 count=1 conv=fsync status=none; :`:                                 "f",
		`dd if=/dev/zero of=f bs=1 count=1 conv=fsync status=none; mv f g`:                            "g",
		`for i in 1 2; do dd if=/dev/zero of=f bs=1 count=1 conv=fsync status=none && break; done; :`: "",
		`dd if=/dev/zero of=f bs=1 count=1 conv=fsync status=none || rm f; :`:                         "",
	} {
		r := newRunner(t, script, func(s *Spec) { s.Jobs = 1 })
		run, err := r.Do(t.Context(), ruled(t, "sync path=./f nth=1 do fail EIO"))
		if err != nil || run.SyncLost != want {
			t.Errorf("%s: lost %q, not %q (%v)", script, run.SyncLost, want, err)
		}
	}
}

// The watchdog ends what prints or forks without end, and says so.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	for script, why := range map[string]string{
		`yes`: "prints without end",
		`mkfifo never; while :; do { read x < never; } & done`: "forks without end",
	} {
		r := newRunner(t, script, func(s *Spec) { s.Jobs = 1 })
		r.watch.mu.Lock()
		r.watch.base, r.watch.most = 0, 8
		r.watch.mu.Unlock()
		run, err := r.Do(t.Context(), Case{})
		if err != nil || !strings.HasPrefix(run.Subject.Hang, why) {
			t.Errorf("%s: %q, %v", script, run.Subject.Hang, err)
		}
	}
}

// Who takes the last of the disk is told from who only meets a full one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, test := range []struct {
		what, script string
		size, taken  int64 // of its file f; of the disk, while that is written
		hang, void   string
	}{
		{"the program", "head -c 3000000 /dev/zero > f; exec tail -f f", 3e6, 3 * mib, "fills the disk", ""},
		{"in its TMPDIR", `head -c 3000000 /dev/zero > "$TMPDIR/f"; exec tail -f "$TMPDIR/f"`, 3e6, 3 * mib, "fills the disk", ""},
		{"another", "echo > f; exec tail -f f", 1, 8 * mib, "", "it is not the program that takes them"},
	} {
		r := newRunner(t, test.script, func(s *Spec) { s.Jobs = 1; s.Setup = "head -c 5000000 /dev/zero > large" })
		r.watch.mu.Lock()
		r.watch.free = func() int64 {
			written, _ := filepath.Glob(filepath.Join(r.space.Dir(), "0001/*/f"))
			for _, f := range written {
				if fi, err := os.Stat(f); err == nil && fi.Size() >= test.size {
					return leastFree - 1
				}
			}
			return leastFree + test.taken
		}
		r.watch.mu.Unlock()
		run, err := r.Do(t.Context(), Case{})
		if !strings.HasPrefix(run.Subject.Hang, test.hang) || (err != nil) != (test.void != "") || err != nil && !strings.Contains(err.Error(), test.void) {
			t.Errorf("%s: %q, %v", test.what, run.Subject.Hang, err)
		}
	}
}

// The original tree is read and never changed, by whatever name it is reached.
func TestOriginal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		`echo x > ` + dir + `/f`, `echo x > ` + link + `/f`, `rm -f ` + dir + `/f`, `chmod 0 ` + dir + `/f`,
		`mv ` + dir + `/f .`, `ln ` + dir + `/f here && echo x > here`, `: > ` + dir + `/new`,
	} {
		r := newRunner(t, script, func(s *Spec) { s.Tree = link })
		if _, err := r.Control(t.Context(), Case{}); err == nil || !strings.Contains(err.Error(), "write {tree}") {
			t.Errorf("%s: %v", script, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || string(text) != "mine" {
			t.Errorf("%s: the user's file is %q, %v", script, text, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
			t.Errorf("%s: made a file", script)
		}
	}
}
