package faultlab_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"faultlab/internal/report"
	"faultlab/internal/report/schematest"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// leavesLock ends without its lock removed where a write fails, and puts it where
// it was started; update loses one where another runs in between.
const (
	leavesLock = "set -eC\n: > lock\necho new >| state.tmp\nmv state.tmp state\nrm lock\n"
	update     = "[ -e number ] && read n <number\necho $((n + 1)) >number\n"
)

// TestReportsAreAsTheSchemaSays: what real experiments write, with findings,
// without, and where they did not take place, is as the schema that ships says.
func TestReportsAreAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	dir, schema := t.TempDir(), schematest.Compiled(t, report.Schema)
	write(t, filepath.Join(dir, "leaks"), leavesLock)
	write(t, filepath.Join(dir, "update"), update)
	for _, test := range []struct {
		args   string
		status int
		long   bool
	}{
		{"sweep --ops create,write --faults ENOSPC,kill -- sh leaks", 1, false},
		{"sweep --depth 2 --ops create --faults EIO -- touch f", 0, false},
		{"sweep --only 'write path=absent nth=1 do fail EIO' -- touch f", 125, false},
		{"sweep -- true", 125, false},
		{"place --starts cwd,stdout -- sh leaks", 1, false},
		{"place --only cwd=subfolder -- sh leaks", 125, false},
		{"crash -- sh leaks", 0, false},
		{"crash --check false --next true -- sh update", 125, false},
		{"crash --check 'test -s number' --next true -- sh update", 1, false},
		{"race --keep-going -- sh update ::: sh update", 1, false},
		{"race --preemptions 0 -- sh update ::: sh update", 0, false},
		{"audit -- sh leaks", 1, true},
		{"audit -- true", 125, false},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			if test.long && os.Getenv("FAULTLAB_LONG") != "1" {
				t.Skip("takes long: FAULTLAB_LONG=1 runs it")
			}
			out := experiment(t, dir, test.args, test.status)
			if len(out) == 0 && test.status == 125 {
				return // void before there was anything to report
			}
			got, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := schema.Validate(got); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// experiment runs a line of faultfs for its JSON.
func experiment(t *testing.T, dir, line string, status int) []byte {
	t.Helper()
	name, rest, _ := strings.Cut(line, " ")
	cmd := exec.Command("sh", "-c", "exec faultfs "+name+" --all --json - --timeout 1m "+rest)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Fatalf("status %d, not %d: %s\n%s", got, status, &said, out)
	}
	return out
}
