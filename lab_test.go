package faultlab_test

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"faultlab"
)

func TestMain(m *testing.M) {
	faultlab.Main(m, nil, "-trimpath", "./cmd/worker", "./cmd/coordinator", "./testdata/subjects/subject", "./testdata/subjects/field/field")
}

// TestScripts is the lab's own proof: each script says at its top what it shows.
func TestScripts(t *testing.T) {
	t.Parallel()
	faultlab.Run(t, "testdata/script")
}

// TestConsumer does what another project does: a module of its own, with a tool
// that leaves its lock behind when a write fails. Its tests find the leak, and
// pass over the tool once that is fixed.
func TestConsumer(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("go", "test", "-v", "-count=1", "-vet=off", ".")
	cmd.Dir = consumer(t)
	// Nothing may come from the network: what the module needs, the lab needed
	// already.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "FAULTLAB_BIN=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the leak was not found")
	}
	for _, text := range []string{
		"--- FAIL: TestLeaky/full_disk", "notes.lock unexpectedly exists", "--- PASS: TestLeaky/own",
		"--- PASS: TestFixed/full_disk", "--- PASS: TestFixed/own", "--- PASS: TestFresh/hold",
		"--- FAIL: TestSweep/leaky/refused/notes.txt", "notes.lock is left behind and blocks the next run", "\n          faultfs sweep --faults ENOSPC --ops create,write --only ",
		"--- PASS: TestSweep/fixed", "--- FAIL: TestSweep/absent", `program "absent": executable file not found in $PATH`,
		"--- FAIL: TestSweep/nothing", "nothing was tried, so nothing is known",
	} {
		if !strings.Contains(string(out), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
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

// TestBuiltAlike: the programs are built with what the test itself was.
func TestBuiltAlike(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("subject")
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	self, _ := debug.ReadBuildInfo()
	for _, key := range []string{"-race", "-cover", "-tags"} {
		if got, want := setting(info, key), setting(self, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
