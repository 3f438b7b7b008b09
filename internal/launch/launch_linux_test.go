package launch

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// launched runs a shell script with the steps done, and returns what it prints
// and how it ends.
func launched(t *testing.T, dir, script string, steps ...Step) (out, stderr string, status int) {
	t.Helper()
	path, args := Command(steps, "/bin/sh", []string{"sh", "-c", script})
	var said strings.Builder
	cmd := exec.Cmd{Path: path, Args: args, Dir: dir, Stderr: &said}
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text)), said.String(), cmd.ProcessState.ExitCode()
}

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		steps  []Step
		script string
		want   string
	}{
		{"nothing", nil, "echo $0", "sh"},
		{"umask", []Step{Umask(0o077)}, "umask", "0077"},
		{"umask of nothing", []Step{Umask(0)}, "umask", "0000"},
		{"files", []Step{Files(32)}, "ulimit -n; ulimit -Hn", "32\n32"},
		{"file size", []Step{FileSize(4096)}, "ulimit -f", "8"},
		{"ignored", []Step{Ignore(syscall.SIGPIPE), Ignore(syscall.SIGHUP)}, "grep SigIgn /proc/self/status", "SigIgn:\t0000000000001001"},
		{"nothing ignored", []Step{Umask(0)}, "grep SigIgn /proc/self/status", "SigIgn:\t0000000000000000"},
		{"closed, and none left open", []Step{Close(0), Close(2)}, "ls /proc/$$/fd | grep -x .", "1"},
		{"a full disk", []Step{Open(2, "/dev/full")}, "readlink /proc/$$/fd/2; ls /proc/$$/fd | grep -x .", "/dev/full\n0\n1\n2"},
		{"end of file", []Step{LonePipe(0)}, "cat; readlink /proc/$$/fd/0 | cut -d: -f1", "pipe"},
		{"no arguments of ours", []Step{Umask(0)}, "echo $# $FAULTFS", "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, stderr, _ := launched(t, "", test.script, test.steps...)
			if got != test.want {
				t.Errorf("got %q, want %q; %s", got, test.want, stderr)
			}
		})
	}
}

func TestPipeWithoutReader(t *testing.T) {
	t.Parallel()
	_, stderr, _ := launched(t, "", "(trap '' PIPE; echo x) || echo gone >&2", LonePipe(1))
	if !strings.Contains(stderr, "gone") {
		t.Errorf("it could write: %q", stderr)
	}
}

func TestWorkingDirectory(t *testing.T) {
	t.Parallel()
	t.Run("removed", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "doomed")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		got, stderr, _ := launched(t, dir, "readlink /proc/$$/cwd", RemoveDir())
		if !strings.HasSuffix(got, "doomed (deleted)") {
			t.Errorf("it is in %q; %s", got, stderr)
		}
	})
	t.Run("locked", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		got, stderr, _ := launched(t, dir, "ls . 2>/dev/null || echo locked", LockDir())
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if got != "locked" {
			t.Errorf("it can be read: %q; %s", got, stderr)
		}
	})
}

func TestUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		_, stderr, status := launched(t, "/", "echo started", User(65534))
		if why, yes := Failed(status, stderr); !yes || !strings.Contains(why, "not permitted") {
			t.Errorf("status %d, %q", status, stderr)
		}
		return
	}
	got, stderr, _ := launched(t, "/", "id -u; id -g; id -G", User(65534))
	if got != "65534\n65534\n65534" {
		t.Errorf("it is %q; %s", got, stderr)
	}
}

// What goes wrong is told, whatever is closed.
func TestFailed(t *testing.T) {
	t.Parallel()
	path, args := Command([]Step{Close(0), Close(1), Close(2)}, "/no/such/program", []string{"x"})
	var stderr strings.Builder
	cmd := exec.Cmd{Path: path, Args: args, Stderr: &stderr}
	_ = cmd.Run()
	why, yes := Failed(cmd.ProcessState.ExitCode(), stderr.String())
	if want := "execute /no/such/program: no such file or directory"; !yes || why != want {
		t.Errorf("got %q, %v; want %q", why, yes, want)
	}
	if _, yes := Failed(125, "somebody else's 125"); yes {
		t.Error("a program's own status 125 is taken for the launcher's")
	}
}
