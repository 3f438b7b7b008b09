package coordinator

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit bounds every wait of these tests.
const limit = 20 * time.Second

var program string // cmd/coordinator, built once

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "coordinator")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "coordinator")
	out, err := exec.Command("go", "build", "-o", program, "faultlab/cmd/coordinator").CombinedOutput()
	if err != nil {
		fmt.Printf("%s%v\n", out, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run runs a client command in dir.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var o, e bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &o, &e
	stop := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	defer stop.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// ok runs a command that must succeed and gives its output without the newline.
func ok(t *testing.T, dir string, args ...string) string {
	t.Helper()
	stdout, stderr, code := run(t, dir, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("%v: exit %d, %s", args, code, stderr)
	}
	return strings.TrimSuffix(stdout, "\n")
}

// refused runs a command that must fail with the code and one line that says
// all the words.
func refused(t *testing.T, dir string, code int, words []string, args ...string) {
	t.Helper()
	stdout, stderr, got := run(t, dir, args...)
	if got != code || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "coordinator: ") {
		t.Errorf("%v: exit %d, want %d; stdout %q, stderr %q", args, got, code, stdout, stderr)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			t.Errorf("%v: %q does not say %q", args, stderr, w)
		}
	}
}

// server is a coordinator that has said that it is ready.
type server struct {
	*exec.Cmd
	dir   string
	ready string
	err   bytes.Buffer
}

// serveIn starts a coordinator on the files s and l.db in dir.
func serveIn(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := &server{Cmd: exec.Command(program, append([]string{"serve", "--socket", "s", "--state", "l.db"}, args...)...), dir: dir}
	s.Dir, s.Stderr = dir, &s.err
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.kill() })
	line := make(chan string, 1)
	go func() {
		l, _ := bufio.NewReader(out).ReadString('\n')
		line <- l
	}()
	select {
	case s.ready = <-line:
	case <-time.After(limit):
	}
	if !strings.HasPrefix(s.ready, "ready ") {
		s.kill()
		t.Fatalf("not ready: %q, %s", s.ready, &s.err)
	}
	return s
}

func (s *server) kill() {
	s.Process.Kill()
	s.Wait()
}

// end signals and waits for a clean end.
func (s *server) end(t *testing.T, sig syscall.Signal) {
	t.Helper()
	s.Process.Signal(sig)
	stop := time.AfterFunc(limit, func() { s.Process.Kill() })
	defer stop.Stop()
	if err := s.Wait(); err != nil || s.err.Len() > 0 {
		t.Errorf("after %v: %v, %s", sig, err, &s.err)
	}
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
