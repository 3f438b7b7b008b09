//go:build unix

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain: the test binary is also the worker.
func TestMain(m *testing.M) {
	if os.Getenv("WORKER_TEST") != "" {
		Main()
	}
	os.Exit(m.Run())
}

const eval = "../../testdata/eval/"

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// result is how a worker ended. status is what a shell would say.
type result struct {
	stdout, stderr string
	status         int
}

func worker(args ...string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "WORKER_TEST=1")
	cmd.Dir = "/" // a foreign directory, for all of them
	return cmd
}

func ended(cmd *exec.Cmd) result {
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	err := cmd.Run()
	return result{stdout.String(), stderr.String(), statusCode(err)}
}

func statusCode(err error) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		panic(err)
	}
	if ws := failed.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return failed.ExitCode()
}

func runArgs(t *testing.T, dir, candidate string, more ...string) []string {
	t.Helper()
	return append([]string{"run", "--candidate", abs(t, eval+candidate+".json"), "--dataset", abs(t, eval+"dataset.jsonl"), "--data", dir}, more...)
}

func runWorker(t *testing.T, dir, candidate string, more ...string) result {
	t.Helper()
	return ended(worker(runArgs(t, dir, candidate, more...)...))
}

// tree is the names and contents of a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		content, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(&all, "-- %s --\n%s", e.Name(), content)
	}
	return all.String()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// want checks an ending whose message, if any, is one line without a trace.
func want(t *testing.T, got result, status int, says string) {
	t.Helper()
	if got.status != status || !strings.Contains(got.stderr, says) {
		t.Errorf("status %d, want %d; stderr %q, want %q", got.status, status, got.stderr, says)
	}
	if strings.Count(got.stderr, "\n") > 1 || strings.Contains(got.stderr, "goroutine ") {
		t.Errorf("more than one line: %q", got.stderr)
	}
}

func TestPromoteAndGate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want(t, runWorker(t, dir, "weaker"), statusGate, "below the floor")
	if got := tree(t, dir); got != "" {
		t.Errorf("a candidate below the floor left %s", got)
	}
	first := runWorker(t, dir, "candidate")
	want(t, first, statusOK, "")
	lines := strings.Split(first.stdout, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "locked ") || lines[1] != "released" || lines[2] != "promoted steady 50 of 60 (0.833)" {
		t.Errorf("stdout %q", first.stdout)
	}
	afterOne := tree(t, dir)
	want(t, runWorker(t, dir, "candidate"), statusGate, "does not beat the champion")
	if got := tree(t, dir); got != afterOne {
		t.Errorf("a candidate that did not pass changed something: %s", got)
	}
	want(t, runWorker(t, dir, "better"), statusOK, "")
	got := ended(worker("status", "--data", dir))
	want(t, got, statusOK, "")
	if wantOut := fmt.Sprintf("lock: %s/run.lock is free\nchampion: sharp, 57 of 60 (0.950), run 2\nresults: 2\n", dir); got.stdout != wantOut {
		t.Errorf("status says %q", got.stdout)
	}
}

// The bytes depend on the input only: two runs elsewhere leave the same.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		want(t, runWorker(t, dir, "candidate"), statusOK, "")
		want(t, runWorker(t, dir, "better"), statusOK, "")
	}
	if tree(t, a) != tree(t, b) {
		t.Errorf("%s\n%s", tree(t, a), tree(t, b))
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	good, cases := abs(t, eval+"candidate.json"), abs(t, eval+"dataset.jsonl")
	broken := abs(t, eval+"broken.jsonl")
	file := filepath.Join(dir, "file")
	write(t, file, "")
	token := strings.Repeat("0", 32)
	rows := []struct {
		args []string
		says string
	}{
		{nil, "say what to do: run, status or unlock"},
		{[]string{"fly"}, `unknown command "fly"`},
		{[]string{"run"}, `required flag(s) "candidate", "data", "dataset" not set`},
		{[]string{"run", "--colour"}, "unknown flag: --colour"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "more"}, `"more"`},
		{[]string{"run", "--candidate", file + "x", "--dataset", cases, "--data", data}, "candidate: open " + file + "x: no such file or directory"},
		{[]string{"run", "--candidate", dir, "--dataset", cases, "--data", data}, "candidate: " + dir + " is a directory: want a file"},
		{[]string{"run", "--candidate", "", "--dataset", cases, "--data", data}, "--candidate is empty: want a file"},
		{[]string{"run", "--candidate", file, "--dataset", cases, "--data", data}, file + `:1:1: nothing there; want {"name":`},
		{[]string{"run", "--candidate", good, "--dataset", broken, "--data", data}, broken + `:4:39: errors is a string; want {"id":`},
		{[]string{"run", "--candidate", good, "--dataset", dir, "--data", data}, "dataset: " + dir + " is a directory: want a file"},
		{[]string{"run", "--candidate", good, "--dataset", file, "--data", data}, file + ": the dataset is empty; want a case a line"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", file}, "--data: " + file + " is not a directory"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", file + "x"}, "make it first: mkdir " + file + "x"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", ""}, "--data is empty: want a directory"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--mutant", "x"}, `unknown mutant "x": want one of create-then-write, `},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--end", "x"}, `unknown --end "x": want one of return, `},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--lock", "x"}, `unknown --lock "x": want create or flock`},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--store", "s.db"}, "--coordinator and --store: one is missing"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--store", "s.db", "--coordinator", "c.sock", "--ttl", "1ns"}, "--ttl 1ns: want 1ms to 24h"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--store", "s.db", "--coordinator", "c.sock", "--key", ""}, "--lease and --key must not be empty"},
		{[]string{"run", "--candidate", good, "--dataset", cases, "--data", data, "--heldout", good}, "--heldout: find the repository of "},
		{[]string{"status", "--data", file}, "--data: " + file + " is not a directory"},
		{[]string{"status", "--data", data, "--lock", "x"}, `unknown --lock "x": want create or flock`},
		{[]string{"unlock", "--data", data}, `required flag(s) "token" not set`},
		{[]string{"unlock", "--data", data, "--token", "12"}, `--token "12" is not a token: want 32 hexadecimal digits`},
		{[]string{"unlock", "--data", data, "--token", ""}, `--token "" is not a token`},
		{[]string{"unlock", "--data", file, "--token", token}, "is not a directory"},
	}
	for _, row := range rows {
		got := ended(worker(row.args...))
		want(t, got, statusUsage, "worker: ")
		if !strings.Contains(got.stderr, row.says) || got.stdout != "" {
			t.Errorf("%q:\nsays %q\nwant %q\nstdout %q", row.args, got.stderr, row.says, got.stdout)
		}
	}
	if got := tree(t, data); got != "" {
		t.Errorf("left %s", got)
	}
}
