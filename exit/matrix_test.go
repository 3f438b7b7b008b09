//go:build unix

package exit_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"faultlab/exit"
)

// TestMain: the test binary is also the process that ends. Each row of the matrix is a real process with a real file.
func TestMain(m *testing.M) {
	if way := os.Getenv("EXIT_TEST_WAY"); way != "" {
		child(way, os.Getenv("EXIT_TEST_FILE"))
	}
	os.Exit(m.Run())
}

func child(way, file string) {
	if way == "deferred run" {
		defer os.Exit(0) // runs last: this test's main is not the child's main
		defer exit.Run()
		take(file, nil)
		return
	}
	exit.Main(func() int {
		var fail error
		if strings.HasPrefix(way, "failing hook") {
			fail = errors.New("unlink x: no space")
		}
		take(file, fail)
		return end(way, file)
	})
}

func take(file string, fail error) {
	must(exit.Do(func() error {
		f, err := os.Create(file)
		if err == nil {
			exit.Register(func() error { return errors.Join(os.Remove(file), fail) })
		}
		return errors.Join(err, f.Close())
	}))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func end(way, file string) int {
	switch way {
	case "return", "failing hook, return 0":
		return 0
	case "return 4", "failing hook, return 4":
		return 4
	case "now 5":
		exit.Now(5)
	case "failing hook, now 0":
		exit.Now(0)
	case "panic":
		panicHere()
	case "panic in exit.Go":
		exit.Go(panicHere)
	case "panic in a step":
		_ = exit.Do(func() error { panicHere(); return nil })
	case "panic in a plain goroutine":
		go panicHere()
	case "goexit":
		runtime.Goexit()
	case "goexit in exit.Go":
		gone := make(chan struct{})
		exit.Go(func() { defer close(gone); runtime.Goexit() })
		<-gone
		return 6
	case "os.Exit":
		os.Exit(5)
	case "log.Fatal":
		log.Fatal("fatal")
	case "throw":
		new(sync.Mutex).Unlock()
	case "broken pipe":
		return brokenPipe()
	case "signal during a step":
		return signalDuringStep(file)
	case "refused after a signal":
		return refusedAfterSignal()
	case "slow hook":
		exit.Register(func() error {
			fmt.Println("in the hook")
			_, err := io.Copy(io.Discard, os.Stdin)
			return err
		})
		fmt.Println("ready")
	case "wait":
		fmt.Println("ready")
	}
	select {}
}

func panicHere() { panic("boom") }

// brokenPipe writes to a standard output that nobody reads.
func brokenPipe() int {
	for {
		if _, err := fmt.Println("y"); err != nil {
			if errors.Is(err, syscall.EPIPE) {
				return 7
			}
			return 1
		}
	}
}

// signalDuringStep is signalled inside a step, and the file must be there until the step ends.
func signalDuringStep(file string) int {
	_ = exit.Do(func() error {
		must(syscall.Kill(os.Getpid(), syscall.SIGTERM))
		for exit.Do(func() error { return nil }) == nil { // until the exit has begun
			runtime.Gosched()
		}
		_, err := os.Stat(file)
		if err == nil {
			fmt.Println("still held")
		}
		return err
	})
	return 1 // too late: the signal was first
}

func refusedAfterSignal() int {
	must(syscall.Kill(os.Getpid(), syscall.SIGQUIT)) // its dump gives the refused one time to be first
	for {
		if err := exit.Do(func() error { return nil }); err != nil {
			if errors.Is(err, exit.ErrExiting) {
				return 1 // must not win over the signal's status
			}
			log.Fatal(err)
		}
	}
}

func command(t *testing.T, way string) (cmd *exec.Cmd, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "held")
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "EXIT_TEST_WAY="+way, "EXIT_TEST_FILE="+file)
	return cmd, file
}

// status is what a shell would print as $?.
func status(err error) int {
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		return 0
	}
	if ws := ended.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ended.ExitCode()
}

func left(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	const leaks = true
	rows := []struct {
		way    string
		status int
		leak   bool
		says   string
	}{
		{"return", 0, false, ""},
		{"return 4", 4, false, ""},
		{"deferred run", 0, false, ""},
		{"now 5", 5, false, ""},
		{"failing hook, return 0", 1, false, "exit: unlink x: no space\n"},
		{"failing hook, return 4", 4, false, "exit: unlink x: no space\n"},
		{"failing hook, now 0", 1, false, "exit: unlink x: no space\n"},
		{"panic", 2, false, "panicHere"},
		{"panic in exit.Go", 2, false, "panicHere"},
		{"panic in a step", 2, false, "panicHere"},
		{"goexit", 2, false, "runtime.Goexit ended the main goroutine"},
		{"goexit in exit.Go", 6, false, ""},
		{"signal during a step", 143, false, ""},
		{"refused after a signal", 131, false, ""},
		{"os.Exit", 5, leaks, ""},
		{"log.Fatal", 1, leaks, "fatal"},
		{"panic in a plain goroutine", 2, leaks, "boom"},
		{"throw", 2, leaks, "unlock of unlocked mutex"},
	}
	for _, row := range rows {
		t.Run(row.way, func(t *testing.T) {
			t.Parallel()
			cmd, file := command(t, row.way)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if got := status(err); got != row.status {
				t.Errorf("status %d, want %d\n%s", got, row.status, stderr.String())
			}
			if left(file) != row.leak {
				t.Errorf("left behind: %v, want %v", !row.leak, row.leak)
			}
			if !strings.Contains(stderr.String(), row.says) {
				t.Errorf("stderr %q lacks %q", stderr.String(), row.says)
			}
			if row.way == "signal during a step" && string(stdout) != "still held\n" {
				t.Errorf("the hook ran before the step had ended: stdout %q", stdout)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	t.Parallel()
	rows := []struct {
		sig  syscall.Signal
		leak bool
		says string
	}{
		{syscall.SIGINT, false, ""},
		{syscall.SIGTERM, false, ""},
		{syscall.SIGHUP, false, ""},
		{syscall.SIGQUIT, false, "goroutine "},
		{syscall.SIGKILL, true, ""},
	}
	for _, row := range rows {
		t.Run(row.sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd, file := command(t, "wait")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			startReady(t, cmd)
			must(cmd.Process.Signal(row.sig))
			err := cmd.Wait()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || !ended.Sys().(syscall.WaitStatus).Signaled() {
				t.Errorf("ended with %v, want a death by signal", err)
			}
			if got, want := status(err), 128+int(row.sig); got != want {
				t.Errorf("status %d, want %d", got, want)
			}
			if left(file) != row.leak {
				t.Errorf("left behind: %v, want %v", !row.leak, row.leak)
			}
			if !strings.Contains(stderr.String(), row.says) {
				t.Errorf("stderr %q lacks %q", stderr.String(), row.says)
			}
		})
	}
}

func startReady(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("got %q, %v", line, err)
	}
}

// nohup sets SIGHUP to ignored, and os/signal.Notify would silently undo that.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	t.Parallel()
	cmd, file := command(t, "wait")
	cmd.Args = []string{"sh", "-c", `trap "" HUP; exec "$0"`, cmd.Path}
	cmd.Path = "/bin/sh"
	startReady(t, cmd)
	must(cmd.Process.Signal(syscall.SIGHUP))
	must(cmd.Process.Signal(syscall.SIGTERM))
	if got := status(cmd.Wait()); got != 128+15 {
		t.Errorf("status %d: SIGHUP was not ignored", got)
	}
	if left(file) {
		t.Error("left behind")
	}
}

func TestBrokenPipeIsAnError(t *testing.T) {
	t.Parallel()
	cmd, file := command(t, "broken pipe")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	must(cmd.Start())
	must(errors.Join(r.Close(), w.Close()))
	if got := status(cmd.Wait()); got != 7 {
		t.Errorf("status %d, want 7: the write fails and the program ends in its own way", got)
	}
	if left(file) {
		t.Error("left behind")
	}
}

// A terminal and a supervisor may deliver the same signal twice. The second one must not cut the release short.
func TestSecondSignalDuringTheHooks(t *testing.T) {
	t.Parallel()
	cmd, file := command(t, "slow hook")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(cmd.Start())
	lines := bufio.NewReader(out)
	for _, want := range []string{"ready\n", "in the hook\n"} {
		if line, err := lines.ReadString('\n'); line != want {
			t.Fatalf("got %q, %v", line, err)
		}
		must(cmd.Process.Signal(syscall.SIGINT))
	}
	must(cmd.Process.Signal(syscall.SIGTERM))
	must(in.Close())
	if got := status(cmd.Wait()); got != 130 {
		t.Errorf("status %d, want 130: that of the first signal", got)
	}
	if left(file) {
		t.Error("the second signal cut the release short")
	}
}
