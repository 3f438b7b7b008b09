package faultlab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"faultlab"
)

func TestMain(m *testing.M) {
	faultlab.Main(m, nil, "./cmd/worker", "./cmd/coordinator", "./testdata/subjects/subject")
}

// TestScripts is the lab's own proof: each script says at its top what it shows.
func TestScripts(t *testing.T) {
	t.Parallel()
	faultlab.Run(t, "testdata/script")
}

// TestConsumer does what another project does: a module of its own, with a tool
// that leaves its lock behind when a write fails. Its tests find the leak, and
// pass once the tool is fixed.
func TestConsumer(t *testing.T) {
	t.Parallel()
	dir := consumer(t)
	for _, c := range []struct {
		name, tags string
		fails      bool
		says       []string
	}{
		{"leaky", "", true, []string{"--- FAIL: TestScripts/full_disk", "notes.lock unexpectedly exists", "--- PASS: TestOwn"}},
		{"fixed", "fixed", false, []string{"--- PASS: TestScripts/full_disk", "--- PASS: TestOwn"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("go", "test", "-v", "-count=1", "-vet=off", "-tags="+c.tags, "./...")
			cmd.Dir = dir
			// Nothing may come from the network: what the module needs, the lab
			// needed already.
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "FAULTLAB_BIN=")
			out, err := cmd.CombinedOutput()
			if failed := err != nil; failed != c.fails {
				t.Errorf("failed = %v, want %v", failed, c.fails)
			}
			for _, text := range c.says {
				if !strings.Contains(string(out), text) {
					t.Errorf("it does not say %q", text)
				}
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}

// consumer copies the module to where "go test" may bring its go.mod up to date.
func consumer(t *testing.T) string {
	t.Helper()
	lab, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "consumer")
	if err := os.CopyFS(dir, os.DirFS("testdata/consumer")); err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "mod", "edit", "-replace=faultlab="+lab)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}
