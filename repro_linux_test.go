package faultlab_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"faultlab"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	// brokenSave leaves half a number on a full disk, and its lock behind.
	brokenSave = `set -e
n=$(cat state)
echo $((n+1)) > state
mkdir lock
echo run > log
rmdir lock
`
	fixedSave = `set -e
trap 'rm -f state.tmp; rmdir lock' EXIT
mkdir lock
n=$(cat state)
echo $((n+1)) > state.tmp
echo run > log
mv state.tmp state
`
)

// TestRepro writes a script for each finding and runs it, in package faultlab and
// in plain testscript: it fails over the broken program, and passes over the
// fixed one, also where the fix has taken the operation away.
func TestRepro(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"save": brokenSave, "tree/state": "7\n", "tree/bin/tool": "#!/bin/sh\n"} {
		write(t, filepath.Join(dir, name), text)
	}
	if err := os.Chmod(filepath.Join(dir, "tree/bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	sweep := func() (string, int) {
		cmd := exec.Command("faultfs", "sweep", "--tree", "tree", "--ops", "create,write", "--faults", "ENOSPC",
			"--setup", "test -x bin/tool", "--repro", "found", "--", "sh", "save")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, status := sweep(); status != 1 {
		t.Fatalf("status %d\n%s", status, out)
	}
	says := map[string]string{
		"refused_log": "refused  lock is left behind and blocks the next run, which names it",
		"torn_state":  "torn  state: neither old nor new, and the next run does not mend it",
	}
	found, _ := filepath.Glob(filepath.Join(dir, "found/*.txtar"))
	if len(found) != len(says) {
		t.Fatalf("%d scripts: %q", len(found), found)
	}
	for name, text := range says {
		script := filepath.Join(dir, "found", name+".txtar")
		for what, extend := range map[string]func(*testscript.Params){"faultlab": faultlab.Extend, "testscript": func(*testscript.Params) {}} {
			if log, ok := runScript(script, extend); ok || !strings.Contains(log, text) {
				t.Errorf("%s in %s: passed %v\n%s", name, what, ok, log)
			}
		}
	}
	write(t, filepath.Join(dir, "save"), fixedSave)
	for name := range says {
		if log, ok := runScript(filepath.Join(dir, "found", name+".txtar"), faultlab.Extend); !ok {
			t.Errorf("%s fails over the fixed one\n%s", name, log)
		}
	}
	// A file of the user's is never written over.
	write(t, filepath.Join(dir, "save"), brokenSave)
	write(t, filepath.Join(dir, "found/torn_state.txtar"), "mine")
	if out, status := sweep(); status != 2 || !strings.Contains(out, "is there and is not ours") {
		t.Errorf("status %d\n%s", status, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// needsFaultfs skips where the kernel cannot.
func needsFaultfs(t *testing.T) {
	t.Helper()
	out, err := exec.Command("faultfs", "doctor").CombinedOutput()
	if err == nil {
		return
	}
	if os.Getenv("FAULTLAB_REQUIRE") == "1" {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Skipf("%v\n%s", err, out)
}

// runScript runs one script in a test of its own, whose failure is no failure of
// the test that calls it.
func runScript(path string, extend func(*testscript.Params)) (log string, ok bool) {
	t := &quiet{}
	p := testscript.Params{Files: []string{path}}
	extend(&p)
	done := make(chan struct{})
	go func() {
		defer close(done)
		testscript.RunT(t, p)
	}()
	<-done
	return t.log.String(), !t.failed
}

// quiet implements testscript.T.
type quiet struct {
	log    bytes.Buffer
	failed bool
}

func (q *quiet) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(q)
	}()
	<-done
}

func (q *quiet) Log(args ...any)   { fmt.Fprintln(&q.log, args...) }
func (q *quiet) Fatal(args ...any) { q.Log(args...); q.FailNow() }
func (q *quiet) FailNow()          { q.failed = true; runtime.Goexit() }
func (q *quiet) Skip(args ...any)  { q.Fatal(append([]any{"skipped:"}, args...)...) }
func (q *quiet) Verbose() bool     { return true }
func (q *quiet) Parallel()         {}
