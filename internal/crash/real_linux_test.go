//go:build linux

package crash

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/report"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

func TestMain(m *testing.M) { os.Exit(shim.Main(m.Run)) }

// study records a command in a tree that the setup makes.
func study(t *testing.T, setup, script string) *Crash {
	t.Helper()
	r, err := trial.New(t.Context(), trial.Spec{Program: "/bin/sh", Args: []string{"sh", "-ec", script},
		Setup: setup, Timeout: 20 * time.Second, Jobs: 2})
	if err == nil {
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		var c *trial.Controls
		if c, err = r.Control(t.Context(), trial.Case{}); err == nil {
			var cr *Crash
			log := &trial.Log{Repro: func(string) string { return "" }}
			if cr, err = New(t.Context(), r, c, Settings{Options: Options{Model: Strict}}, log); err == nil {
				return cr
			}
		}
	}
	if shim.IsVoid(err) && strings.Contains(err.Error(), "faultfs doctor") && os.Getenv("FAULTLAB_REQUIRE") == "" {
		t.Skip(err)
	}
	t.Fatal(err)
	return nil
}

// workloads are programs whose every state is compared with what really
// happens.
var workloads = []struct{ name, setup, script string }{
	{"replace", "echo old >f", "echo new >t; sync t; mv -f t f; sync ."},
	{"append", "seq 2000 >f", "seq 3000 5000 >>f; echo last >>f"},
	{"names", "mkdir -p a/b/c z; echo 1 >a/b/c/f; ln a/b/c/f z/l; ln -s f a/b/s",
		"mv a z/; echo 2 >>z/a/b/c/f; mv z/a/b q; rm -r z; chmod 600 q/c/f; ln q/c/f q/g; mkdir -m 700 q/n; : >q/c/f; mkfifo q/p"},
	{"copy", "mkdir -p s/d; echo x >s/d/f; chmod 640 s/d/f; ln -s f s/d/l; truncate -s 9000 s/hole", "cp -a s t; rm -r s"},
	{"in place", "seq 3000 >f", "sed -i 's/^1/one/' f; truncate -s 5000 f; dd if=/dev/zero of=f bs=1000 seek=2 count=2 conv=notrunc status=none"},
	{"own path", "", `pwd >here; ln -s "$PWD/here" l; cat here >>there`},
	{"shut", "mkdir d; echo x >d/f; chmod 500 d; chmod 400 d/f", "chmod 700 d; echo y >d/g; mv d e; chmod 500 e"},
}

// sparse is of how many events one is tried.
var sparse = func() int {
	if os.Getenv("FAULTLAB_LONG") == "1" {
		return 1
	}
	return 5
}()

// Killed for good after each change, a program leaves the very tree that its
// record says.
func TestKilledAsPredicted(t *testing.T) {
	t.Parallel()
	for i, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			if sparse > 1 && i%2 == 1 {
				t.Skip("long")
			}
			c := study(t, w.setup, w.script)
			take := c.takes[0]
			steps := take.steps
			for i := range take.rec.Events {
				e := &take.rec.Events[i]
				if !fallible(e) {
					continue
				}
				var at op.Point
				at, steps = pointOf(t, e, steps)
				if i%sparse != 0 {
					continue
				}
				kill := rule.Rule{Selector: rule.At(at), Action: rule.Action{Verb: rule.DoKill, When: rule.After}}
				real, err := c.runner.Do(t.Context(), trial.Case{Rules: []rule.Rule{kill}})
				if err != nil {
					t.Errorf("kill after %s (%v): %v", take.labels[i], at, err)
					continue
				}
				same(t, c, take, &State{Point: i + 1}, real.Tree)
			}
		})
	}
}

// pointOf finds the event among the operations that a rule counts: those that
// failed or changed nothing are no events.
func pointOf(t *testing.T, e *record.Event, steps []trial.Step) (op.Point, []trial.Step) {
	t.Helper()
	for i, s := range steps {
		if s.Call == e.Op.Call && s.Kind == e.Op.Kind && s.Path == e.Op.Path && s.To == e.Op.To && s.Error == "" {
			return s.Point, steps[i+1:]
		}
	}
	t.Fatalf("no operation is %v", e.Op)
	return op.Point{}, nil
}

// same compares a state with a tree.
func same(t *testing.T, c *Crash, take *take, s *State, want tree.Delta) {
	t.Helper()
	built, err := c.runner.Do(t.Context(), trial.Case{State: &trial.State{Build: take.builder(s), Alone: true}})
	if err != nil {
		t.Errorf("%s: %v", take.print(s), err)
		return
	}
	for _, path := range slices.Concat(want.Paths(), built.Tree.Paths()) {
		if w, got := c.at(want, path), c.at(built.Tree, path); !tree.Same(w, got, false) {
			t.Errorf("%s: %s is predicted as %s, and really %s", take.print(s), path, told(got, w), told(w, got))
		}
	}
}

// Every state can be built, a copy is as before when it is given back, and two
// states that are called distinct are.
func TestStatesAreBuilt(t *testing.T) {
	t.Parallel()
	for i, w := range workloads {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			if sparse > 1 && i%2 == 0 {
				t.Skip("long")
			}
			c := study(t, w.setup, w.script)
			cases := c.Cases()
			step := max(1, len(cases)*sparse/60)
			for i := 0; i < len(cases); i += step {
				k := cases[i]
				k.State.Alone = true
				first, err := c.runner.Do(t.Context(), k)
				if err != nil {
					t.Fatalf("%s: %v", k.Choice, err)
				}
				again, err := c.runner.Do(t.Context(), k)
				if err != nil || len(tree.Diff(snapshot(c, first.Tree), snapshot(c, again.Tree))) > 0 {
					t.Errorf("%s: not the same the second time: %v", k.Choice, err)
				}
			}
		})
	}
}

func snapshot(c *Crash, d tree.Delta) tree.Snapshot {
	s := make(tree.Snapshot)
	for path, e := range c.controls.Base {
		s[path] = e
	}
	for path, e := range d {
		s[path] = e
		if e.Kind == tree.Absent {
			delete(s, path)
		}
	}
	return s
}

// What a record cannot hold makes it void, and says what that was.
func TestNotCovered(t *testing.T) {
	t.Parallel()
	python := filepath.Join("/usr/bin", "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skip(err)
	}
	r, err := trial.New(t.Context(), trial.Spec{Program: python, Setup: "truncate -s 1M f", Timeout: 20 * time.Second, Jobs: 2,
		Args: []string{"python3", "-c", "import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\n" +
			"l.fallocate(os.open('f', os.O_RDWR), 8, ctypes.c_long(0), ctypes.c_long(4096))"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c, err := r.Control(t.Context(), trial.Case{})
	if err == nil {
		_, err = New(t.Context(), r, c, Settings{Options: Options{Model: Strict}}, &trial.Log{})
	}
	if !shim.IsVoid(err) || !strings.Contains(err.Error(), "moves what is in a file") {
		t.Errorf("collapsing a range: %v", err)
	}
}

// A record holds what few programs do, and what many threads do at once: it is
// replayed on the base, and a difference would void it.
func TestRecordsAreWhole(t *testing.T) {
	t.Parallel()
	expand := tools(t)
	for _, c := range []struct{ name, needs, setup, run string }{
		{"odd calls", "python3", "", "$P $S/odd.py"},
		{"threads", "cc", "", "$B/threads"},
		{"processes", "sh", "", `for i in 1 2 3 4; do (seq 30 | while read x; do echo $i $x >>log; done) & done; wait; sort log >sorted`},
		{"git", "git", "git init -q . && git config user.email a@b && git config user.name n && echo 1 >a && git add a && git commit -qm 1",
			"echo 2 >>a; git commit -qam 2; git gc -q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skip(err)
			}
			r, err := trial.New(t.Context(), trial.Spec{Program: "/bin/sh", Args: []string{"sh", "-ec", expand(c.run)},
				Setup: c.setup, Next: "true", Timeout: 30 * time.Second, Jobs: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			rec := new(record.Record) // without controls: they differ from run to run
			run, err := r.Do(t.Context(), trial.Case{Record: rec})
			if err != nil || rec.Void != "" || run.Subject.Status() != 0 {
				t.Fatal(err, rec.Void, run.Subject.Text())
			}
			if err := (&Crash{runner: r, controls: &trial.Controls{Base: r.Base()}}).accept(t.Context(), "", rec, run); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A program may print a lot before it acknowledges anything, and is one that does.
func TestLateWordsCount(t *testing.T) {
	t.Parallel()
	for script, void := range map[string]bool{
		"seq 20000; echo x >f; echo ack x": false,
		"seq 20000; echo x >f":             true,
	} {
		c := study(t, "", script)
		_, err := New(t.Context(), c.runner, c.controls, Settings{Options: Options{Model: Strict}, Acked: true}, c.log)
		if (err != nil) != void {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// A state is never written over what is there already, and why one is not kept is
// told as it was.
func TestStatesAreNotMixed(t *testing.T) {
	t.Parallel()
	c := study(t, "", "echo x >f")
	c.settings.Witnesses = true
	p := planned{c.takes[0], &State{Point: 1}}
	choice := p.print(p.State)
	c.keep(p, &report.Trial{Choice: choice, Verdict: "torn"})
	dir, err := c.Witness(choice)
	if _, e := os.Stat(filepath.Join(dir, KeptTree, "f")); err != nil || e != nil {
		t.Fatal(err, e)
	}
	if err := c.write(p, dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written once more: %v", err)
	}
	p.base = func(string, func(string)) error { return errors.New("no room") }
	c.keep(p, &report.Trial{Choice: "another", Verdict: "lost"})
	if _, err := c.Witness("another"); err == nil || err.Error() != "no room" {
		t.Errorf("not kept: %v", err)
	}
}
