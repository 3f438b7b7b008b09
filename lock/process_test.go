//go:build unix

package lock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestMain: the test binary is also the holder that is killed, and the one whose disk is full.
func TestMain(m *testing.M) {
	path := os.Getenv("LOCK_TEST_PATH")
	switch os.Getenv("LOCK_TEST_ROLE") {
	case "hold":
		_, err := Acquire(path, Options{})
		hold(err)
	case "hold flock":
		l, err := AcquireFlock(path, Options{})
		hold(err)
		_ = l.Release()
	case "full disk":
		limit := syscall.Rlimit{Cur: 100, Max: 100}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Println(err)
		}
		_, err := Acquire(path, Options{})
		fmt.Println(err)
	default:
		os.Exit(m.Run())
	}
}

// hold says so and waits: for the end of standard input, or to be killed.
func hold(err error) {
	fmt.Println("holds:", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func start(t *testing.T, role, path string) (cmd *exec.Cmd, said string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCK_TEST_ROLE="+role, "LOCK_TEST_PATH="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, said
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestKilledHolderLeavesALegibleLock(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	cmd, _ := start(t, "hold", path)
	kill(t, cmd)
	_, err := Acquire(path, Options{})
	var held *HeldError
	if !errors.As(err, &held) || held.Record.PID != cmd.Process.Pid {
		t.Fatalf("got %v", err)
	}
	if held.State != Gone && held.State != Reused && held.State != Unknown {
		t.Errorf("state %s", held.State)
	}
	if err := Break(path, held.Token); err != nil {
		t.Error(err)
	}
}

func TestKilledHolderOfAFlockLeavesNothing(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	cmd, said := start(t, "hold flock", path)
	if said != "holds: <nil>\n" {
		t.Fatal(said)
	}
	_, err := AcquireFlock(path, Options{})
	var held *HeldError
	if !errors.As(err, &held) || held.Record.PID != cmd.Process.Pid || held.Clear != "" {
		t.Errorf("while it lives: %v", err)
	}
	kill(t, cmd)
	l, err := AcquireFlock(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// A limit on the size of files makes the kernel itself take only a part of the record.
func TestShortWriteOfTheKernel(t *testing.T) {
	t.Parallel()
	path := lockPath(t)
	_, said := start(t, "full disk", path)
	if want := "write " + path + ": short write: 100 of "; !strings.Contains(said, want) || exists(path) {
		t.Errorf("said %q, want %q; left behind: %v", said, want, exists(path))
	}
}
