package faultlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Sweep fails every operation of a program in every way that can really happen,
// and kills it there, one experiment each in a fresh copy of a tree; each
// finding becomes a failing subtest, whose message is what happened and the
// command line that shows it again. The arguments are those of "faultfs sweep":
// flags, "--", the program and its own arguments. The program is found on PATH,
// where Main has built it, and starts in the copy.
//
//	package tool_test
//
//	import (
//		"testing"
//
//		"faultlab"
//	)
//
//	func TestMain(m *testing.M) { faultlab.Main(m, nil, "./cmd/tool") }
//
//	// A save keeps the old state or makes the new one, whatever fails.
//	func TestSave(t *testing.T) {
//		faultlab.Sweep(t, "--tree", "testdata/data", "--check", "tool verify", "--", "tool", "save")
//	}
//
// Flags narrow it: "--ops write,sync", "--faults ENOSPC,kill", "--path
// state.json", and "--only CHOICE" for one experiment of a finding. Where faultfs
// cannot work the test is skipped, or fails with FAULTLAB_REQUIRE=1. A sweep that
// cannot be made (the program fails by itself, or differs from run to run)
// fails the test with the reason, and so does one that looked at nothing.
func Sweep(t *testing.T, args ...string) {
	t.Helper()
	experiment(t, "sweep", args)
}

// Place starts a program from everywhere else (another working directory, closed
// descriptors, a missing HOME, standard output on a full disk) and turns each
// finding into a failing subtest. The arguments are those of "faultfs place"; all
// else is as with Sweep.
//
//	faultlab.Place(t, "--tree", "testdata/data", "--", "tool", "save", "--to", "{tree}/state")
func Place(t *testing.T, args ...string) {
	t.Helper()
	experiment(t, "place", args)
}

// Crash records one run of a program and rebuilds every state that its death, or
// a power cut, could leave; each from which it does not recover becomes a failing
// subtest. The arguments are those of "faultfs crash"; all else is as with Sweep.
//
//	faultlab.Crash(t, "--check", "tool verify", "--", "tool", "save")
func Crash(t *testing.T, args ...string) {
	t.Helper()
	experiment(t, "crash", args)
}

// Race runs programs against one tree in every order of their operations, up to a
// bound on preemptions, and turns what breaks into a failing subtest. The
// arguments are those of "faultfs race", with ":::" between the programs; all else
// is as with Sweep.
//
//	faultlab.Race(t, "--critical", "state.json", "--", "tool", "save", ":::", "tool", "save")
func Race(t *testing.T, args ...string) {
	t.Helper()
	experiment(t, "race", args)
}

// experiment does one, and reports it as subtests.
func experiment(t *testing.T, name string, args []string) {
	t.Helper()
	if err := works(); err != nil {
		if mustFail(err) {
			t.Fatalf("faultlab: faultfs: %v", err)
		}
		t.Skipf("faultlab: needs faultfs: %v", err)
	}
	out := filepath.Join(t.TempDir(), "report.json")
	said, err := runFaultfs(t, name, out, args)
	r, unread := readReport(out)
	if unread != nil {
		t.Fatalf("faultlab: faultfs %s: %v\n%s", name, errors.Join(err, unread), said)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		t.Run(f.name(), func(t *testing.T) { t.Error(f.message()) })
	}
	if !r.Coverage.Complete || r.Coverage.Ran == 0 {
		t.Errorf("faultlab: the %s has no answer (%v):\n%s", name, err, said)
	}
}

// experimentReport is what is read of the JSON that faultfs writes.
type experimentReport struct {
	Version  int
	Coverage struct {
		Ran      int
		Complete bool
	}
	Findings []finding
}

type finding struct {
	Verdict, Cause, Choice, Detail, Repro string
	Witnesses                             []string
}

// reportVersion is the version of the report that is understood here.
const reportVersion = 1

// runFaultfs runs it, and returns what it said. It is interrupted shortly before
// the tests' own deadline, so that what it has found by then is told.
func runFaultfs(t *testing.T, name, report string, args []string) (said []byte, err error) {
	t.Helper()
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-lead))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "faultfs", append([]string{name, "--json", report}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lead / 2
	return cmd.CombinedOutput()
}

// lead is how long before the deadline an experiment is interrupted.
const lead = 10 * time.Second

func readReport(path string) (*experimentReport, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("it did not take place")
	}
	if err != nil {
		return nil, err
	}
	r := new(experimentReport)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.Version != reportVersion {
		return nil, fmt.Errorf("its report has version %d, not %d: is FAULTLAB_BIN another version's?", r.Version, reportVersion)
	}
	return r, nil
}

// name is the subtest's: the verdict, and the path at which it was first seen.
func (f *finding) name() string {
	_, path, ok := strings.Cut(f.Choice, "path=")
	if !ok { // a start, an order
		return f.Verdict + "/" + f.Choice
	}
	path, _, _ = strings.Cut(path, " ")
	return f.Verdict + "/" + strings.TrimPrefix(path, "./")
}

func (f *finding) message() string {
	dir, err := os.Getwd()
	if err != nil {
		dir = "the directory of the test"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\nat: %s", f.Verdict, f.Cause, f.Detail, f.Choice)
	if more := len(f.Witnesses) - 1; more > 0 {
		fmt.Fprintf(&b, "\n    and %d more", more)
	}
	fmt.Fprintf(&b, "\nto see it again, in %s:\n  %s", dir, f.Repro)
	return b.String()
}
