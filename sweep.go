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
	if err := works(); err != nil {
		if mustFail(err) {
			t.Fatalf("faultlab: faultfs: %v", err)
		}
		t.Skipf("faultlab: needs faultfs: %v", err)
	}
	out := filepath.Join(t.TempDir(), "report.json")
	said, err := sweep(t, out, args)
	r, unread := readReport(out)
	if unread != nil {
		t.Fatalf("faultlab: faultfs sweep: %v\n%s", errors.Join(err, unread), said)
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		t.Run(f.name(), func(t *testing.T) { t.Error(f.message()) })
	}
	if !r.Coverage.Complete || r.Coverage.Ran == 0 {
		t.Errorf("faultlab: the sweep has no answer (%v):\n%s", err, said)
	}
}

// sweepReport is what Sweep reads of the JSON that faultfs writes.
type sweepReport struct {
	Version  int
	Coverage struct {
		Ran      int
		Complete bool
	}
	Findings []sweepFinding
}

type sweepFinding struct {
	Verdict, Cause, Choice, Detail, Repro string
	Witnesses                             []string
}

// reportVersion is the version of the report that is understood here.
const reportVersion = 1

// sweep runs faultfs, and returns what it said. It is interrupted shortly before
// the tests' own deadline, so that what it has found by then is told.
func sweep(t *testing.T, report string, args []string) (said []byte, err error) {
	t.Helper()
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-lead))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "faultfs", append([]string{"sweep", "--json", report}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = lead / 2
	return cmd.CombinedOutput()
}

// lead is how long before the deadline a sweep is interrupted.
const lead = 10 * time.Second

func readReport(path string) (*sweepReport, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errors.New("it did not take place")
	}
	if err != nil {
		return nil, err
	}
	r := new(sweepReport)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.Version != reportVersion {
		return nil, fmt.Errorf("its report has version %d, not %d: is FAULTLAB_BIN another version's?", r.Version, reportVersion)
	}
	return r, nil
}

// name is the subtest's: the verdict, and the path at which it was first seen.
func (f *sweepFinding) name() string {
	_, path, _ := strings.Cut(f.Choice, "path=")
	path, _, _ = strings.Cut(path, " ")
	return f.Verdict + "/" + strings.TrimPrefix(path, "./")
}

func (f *sweepFinding) message() string {
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
