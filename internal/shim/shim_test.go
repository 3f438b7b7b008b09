//go:build linux

package shim_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

// subject is the compiled testdata/subject.c, or empty where there is no
// compiler.
var subject string

func TestMain(m *testing.M) {
	if mode := os.Getenv("SHIM_TEST_MODE"); mode != "" {
		os.Exit(shim.Main(func() int { return modes[mode]() }))
	}
	os.Exit(shim.Main(func() int {
		dir, err := os.MkdirTemp("", "shim-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		_ = os.Chmod(dir, 0o755)
		bin := filepath.Join(dir, "subject")
		cc := exec.Command("cc", "-O1", "-pthread", "-o", bin, "testdata/subject.c")
		if out, err := cc.CombinedOutput(); err == nil {
			subject = bin
		} else if !errors.Is(err, exec.ErrNotFound) {
			fmt.Fprintf(os.Stderr, "%s\n", out)
			return 1
		}
		return m.Run()
	}))
}

// trial is one supervised run in a directory of its own.
type trial struct {
	t     *testing.T
	dir   string
	calls []string // nil: what the rules need
	// openWrites is Config.OpenWrites.
	openWrites bool

	env    []string
	limits shim.Limits

	rules   []string
	matcher *rule.Matcher
	log     log

	exit        shim.Exit
	err         error
	out, errOut string
}

func try(t *testing.T, rules ...string) *trial {
	t.Helper()
	return &trial{t: t, dir: t.TempDir(), rules: rules,
		limits: shim.Limits{Timeout: 30 * time.Second, Grace: 5 * time.Second}}
}

// seeAll traps every call and keeps what was seen.
func (tr *trial) seeAll() *trial {
	tr.calls = op.Calls(op.All)
	return tr
}

// c runs the C subject.
func (tr *trial) c(args ...string) *trial {
	tr.t.Helper()
	if subject == "" {
		need(tr.t, "a C compiler (cc)")
	}
	return tr.run(append([]string{subject}, args...)...)
}

// need skips for want of something, or fails where nothing may be wanting.
func need(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("FAULTLAB_REQUIRE") == "1" {
		t.Fatalf("%s is needed", what)
	}
	t.Skipf("%s is needed", what)
}

func (tr *trial) run(args ...string) *trial {
	tr.t.Helper()
	start := tr.begin(args...)
	tr.exit, tr.err = start.Wait(tr.limits)
	tr.collect()
	return tr
}

// begin starts args and returns the run; its output is collected later.
func (tr *trial) begin(args ...string) *shim.Run {
	tr.t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		need(tr.t, args[0])
	}
	var rules []rule.Rule
	for _, text := range tr.rules {
		r, err := rule.Parse(text)
		if err != nil {
			tr.t.Fatal(err)
		}
		rules = append(rules, r)
	}
	if tr.calls == nil {
		for _, r := range rules {
			tr.calls = append(tr.calls, r.Calls()...)
		}
	}
	tr.matcher = rule.NewMatcher(tr.dir, rules)
	run, err := shim.Start(
		shim.Command{Path: path, Args: args, Dir: tr.dir, Env: append(os.Environ(), tr.env...),
			Stdin: open(tr.t, os.DevNull), Stdout: tr.file("stdout"), Stderr: tr.file("stderr")},
		shim.Config{Tree: tr.dir, Actor: 'A', Calls: tr.calls, OpenWrites: tr.openWrites, Decider: tr.matcher, Observer: &tr.log, Names: true})
	if err != nil {
		tr.t.Fatal(err)
	}
	return run
}

func (tr *trial) file(name string) *os.File {
	f, err := os.Create(filepath.Join(outputs(tr.dir), name))
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Cleanup(func() { f.Close() })
	return f
}

// outputs is beside the tree, so that what is printed there is no operation.
func outputs(dir string) string {
	beside := dir + ".out"
	_ = os.MkdirAll(beside, 0o777)
	return beside
}

func (tr *trial) collect() {
	tr.out, tr.errOut = tr.read(outputs(tr.dir)+"/stdout"), tr.read(outputs(tr.dir)+"/stderr")
}

func open(t *testing.T, name string) *os.File {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// read is a file's content; a relative name is the tree's.
func (tr *trial) read(name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(tr.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(text)
}

func (tr *trial) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(tr.dir, name))
	return err == nil
}

func (tr *trial) write(name, text string) *trial {
	if err := os.WriteFile(filepath.Join(tr.dir, name), []byte(text), 0o666); err != nil {
		tr.t.Fatal(err)
	}
	return tr
}

// ok fails the test unless the run took place, every rule fired, and the
// subject printed want.
func (tr *trial) ok(want string) *trial {
	tr.t.Helper()
	if tr.err != nil {
		tr.t.Errorf("void: %v", tr.err)
	}
	for _, r := range tr.matcher.Unfired() {
		tr.t.Errorf("%v never fired", r)
	}
	if got := strings.TrimSpace(tr.out); got != want {
		tr.t.Errorf("it printed %q, want %q; on standard error: %s", got, want, tr.errOut)
	}
	return tr
}

func (tr *trial) holds(name, want string) *trial {
	tr.t.Helper()
	if got := tr.read(name); got != want {
		tr.t.Errorf("%s holds %.60q (%d bytes), want %.60q (%d bytes)", name, got, len(got), want, len(want))
	}
	return tr
}

// killed fails the test unless SIGKILL ended the subject.
func (tr *trial) killed() *trial {
	tr.t.Helper()
	if tr.exit.Status() != 137 || !tr.exit.ByRule {
		tr.t.Errorf("it ended with %+v, want a kill by the rule", tr.exit)
	}
	return tr
}

// log keeps what an observer is told.
type log struct {
	points op.Counter
	lines  []string
	ops    []op.Op
	known  []shim.Result
}

func (l *log) Saw(o *op.Op, r shim.Result) {
	p := l.points.Point(o)
	s := fmt.Sprintf("%s %s %d", p.Kind, p.Path, p.Nth)
	if o.To != "" {
		s += " to " + o.To
	}
	if o.Replaces {
		s += " replacing"
	}
	l.lines = append(l.lines, s)
	l.ops = append(l.ops, *o)
	l.known = append(l.known, r)
}

// letters is what the subject's fill makes.
func letters(n int) string {
	return string(bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:n])
}
