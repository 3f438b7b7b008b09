//go:build unix

package worker

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hold starts a worker that holds the lock until it is killed.
func hold(t *testing.T, dir string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := worker(runArgs(t, dir, "candidate", append(more, "--end", "wait")...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	if lines.Text() != "ready" {
		t.Fatal("not ready")
	}
	return cmd
}

// clearing is the command that a refusal ends in.
func clearing(t *testing.T, stderr string) string {
	t.Helper()
	_, command, ok := strings.Cut(strings.TrimSpace(stderr), "clear it with: ")
	if !ok {
		t.Fatalf("no command in %q", stderr)
	}
	return command
}

// shell runs a command verbatim, from a directory that has nothing to do with it.
func shell(command string) result {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "WORKER_TEST=1")
	cmd.Dir = "/"
	return ended(cmd)
}

func TestRefusalAndItsCommand(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"data", "it's $HOME", "-n;rm", "ü"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		holder := hold(t, dir)
		refused := runWorker(t, dir, "candidate")
		want(t, refused, statusHeld, fmt.Sprintf("run.lock is held by pid %d on host ", holder.Process.Pid))
		want(t, refused, statusHeld, "which is alive")
		_ = holder.Process.Kill()
		_ = holder.Wait()
		refused = runWorker(t, dir, "candidate")
		want(t, refused, statusHeld, "which is gone")
		want(t, ended(worker("status", "--data", dir)), statusHeld, "")
		command := clearing(t, refused.stderr)
		want(t, shell(command), statusOK, "")
		want(t, shell(command), statusFailed, "there is no lock: nothing to clear")
		want(t, runWorker(t, dir, "candidate"), statusOK, "")
	}
}

func TestUnlockOfAnotherLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := hold(t, dir)
	old := clearing(t, runWorker(t, dir, "candidate").stderr)
	_ = first.Process.Signal(syscall.SIGTERM)
	_ = first.Wait()
	second := hold(t, dir)
	got := shell(old)
	want(t, got, statusHeld, "this is not the lock with token")
	want(t, got, statusHeld, fmt.Sprintf("held by pid %d", second.Process.Pid))
	want(t, runWorker(t, dir, "candidate"), statusHeld, "which is alive")
}

// Killed over its record: what the next one is told, and that the command works.
func TestHalfMadeLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "run.lock")
	holder := hold(t, dir)
	_ = holder.Process.Kill()
	_ = holder.Wait()
	whole := read(t, path)
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		write(t, path, whole[:n])
		refused := runWorker(t, dir, "candidate")
		want(t, refused, statusHeld, "is half-made (")
		command := clearing(t, refused.stderr)
		write(t, path, whole)
		want(t, shell(command), statusHeld, "this is not the lock with token")
		want(t, shell(clearing(t, runWorker(t, dir, "candidate").stderr)), statusOK, "")
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	leaks := map[string]bool{"os-exit": true, "log-fatal": true, "panic-goroutine": true, "throw": true}
	status := map[string]int{"return": 0, "panic": 2, "panic-goroutine": 2, "panic-exit-go": 2, "goexit": 2, "throw": 2}
	for _, e := range endings {
		if e.name == "wait" {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			for _, mutant := range []string{"", "release-at-tail"} {
				dir := t.TempDir()
				var more []string
				leak := leaks[e.name]
				if mutant != "" {
					more, leak = []string{"--mutant", mutant}, e.name != "return"
				}
				got := runWorker(t, dir, "candidate", append(more, "--end", e.name)...)
				wantStatus, ok := status[e.name]
				if !ok {
					wantStatus = 1
				}
				if got.status != wantStatus || !strings.HasPrefix(got.stdout, "locked ") {
					t.Errorf("%s status %d, want %d: %s", mutant, got.status, wantStatus, got.stderr)
				}
				if got := strings.Contains(tree(t, dir), "run.lock"); got != leak {
					t.Errorf("%s left behind: %v, want %v", mutant, got, leak)
				}
				if leak != !strings.Contains(got.stdout, "released") {
					t.Errorf("%s said %q", mutant, got.stdout)
				}
			}
		})
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL} {
		dir := t.TempDir()
		cmd := hold(t, dir)
		_ = cmd.Process.Signal(sig)
		if got := statusCode(cmd.Wait()); got != 128+int(sig) {
			t.Errorf("%v: status %d", sig, got)
		}
		if left := tree(t, dir) != ""; left != (sig == syscall.SIGKILL) {
			t.Errorf("%v: left behind: %v", sig, left)
		}
	}
}

func TestFlockDesign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := hold(t, dir, "--lock", "flock")
	refused := runWorker(t, dir, "candidate", "--lock", "flock")
	want(t, refused, statusHeld, fmt.Sprintf("held by pid %d", holder.Process.Pid))
	want(t, refused, statusHeld, "which is alive: wait until it ends\n")
	want(t, ended(worker("status", "--data", dir, "--lock", "flock")), statusHeld, "")
	_ = holder.Process.Kill()
	_ = holder.Wait()
	want(t, ended(worker("status", "--data", dir, "--lock", "flock")), statusOK, "")
	want(t, runWorker(t, dir, "candidate", "--lock", "flock"), statusOK, "")
}

func TestNotify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(t.TempDir(), "s")
	want(t, runWorker(t, dir, "candidate", "--notify", socket), statusFailed, "no such file or directory: nothing was changed; start what listens there")
	if got := tree(t, dir); got != "" {
		t.Errorf("left %s", got)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told := make(chan string)
	go func() {
		peer, err := l.Accept()
		if err != nil {
			told <- err.Error()
			return
		}
		line, _ := bufio.NewReader(peer).ReadString('\n')
		told <- line
	}()
	want(t, runWorker(t, dir, "candidate", "--notify", socket), statusOK, "")
	if got := <-told; got != read(t, filepath.Join(dir, "results.jsonl")) {
		t.Errorf("told %q", got)
	}
}

// Nobody reads what it prints, or the disk under it is full: it ends in its own way, with nothing changed and no lock.
func TestStdoutThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	for says, out := range map[string]*os.File{"broken pipe": w, "no space left on device": full} {
		dir := t.TempDir()
		cmd := worker(runArgs(t, dir, "candidate")...)
		cmd.Stdout = out
		if got := ended(cmd); got.status != statusFailed || !strings.Contains(got.stderr, "write /dev/stdout: "+says) {
			t.Errorf("%d, %q", got.status, got.stderr)
		}
		if got := tree(t, dir); got != "" {
			t.Errorf("left %s", got)
		}
	}
}

func TestForeignDirectories(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone")
	deleted := func(arguments ...string) result {
		cmd := worker(arguments...)
		cmd.Args = append([]string{"sh", "-c", `mkdir "$1" && cd "$1" && rmdir "$1" && shift && exec "$@"`, "sh", gone, cmd.Path}, arguments...)
		cmd.Path = "/bin/sh"
		return ended(cmd)
	}
	dir := t.TempDir()
	want(t, deleted(runArgs(t, dir, "candidate")...), statusOK, "")
	want(t, deleted(runArgs(t, "data", "candidate")...), statusUsage, "give an absolute path")
	if got := tree(t, dir); !strings.Contains(got, "champion.json") || strings.Contains(got, "run.lock") {
		t.Errorf("left %s", got)
	}
	// A relative data directory is resolved once; the command in a refusal is absolute.
	parent := t.TempDir()
	if err := os.Mkdir(filepath.Join(parent, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(parent, "data", "run.lock"), "")
	cmd := worker(runArgs(t, "data", "candidate")...)
	cmd.Dir = parent
	want(t, shell(clearing(t, ended(cmd).stderr)), statusOK, "")
}

func TestHelpNamesEverything(t *testing.T) {
	t.Parallel()
	got := ended(worker("run", "--help"))
	for _, word := range []string{"--candidate FILE", "--dataset FILE", "--data DIR", "--notify SOCKET", "--mutant NAME", "--end MODE",
		"create-then-write", "panic-exit-go", "4  the candidate did not pass the gate"} {
		if !strings.Contains(got.stdout, word) {
			t.Errorf("no %q in the help", word)
		}
	}
	want(t, got, statusOK, "")
}
