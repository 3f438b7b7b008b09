//go:build linux

package shim_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

// modes are what this binary does when a test starts it as a program.
var modes = map[string]func() int{
	// Supervise a program that does nothing.
	"true": func() int {
		dir := os.Getenv("SHIM_TEST_DIR")
		run, err := shim.Start(shim.Command{Path: "/bin/true", Args: []string{"true"},
			Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}, shim.Config{Tree: dir})
		if err != nil {
			return 1
		}
		_, _ = run.Wait(shim.Limits{Timeout: time.Minute, Grace: time.Second})
		return 0
	},
	// Supervise shells that never end by themselves, and never leave their group.
	"group": func() int {
		dir := os.Getenv("SHIM_TEST_DIR")
		const script = `for i in 1 2; do sh -c ': >alive.$$; while :; do echo x >probe; done' & done; : >alive.$$; wait`
		run, err := shim.Start(shim.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script},
			Dir: dir, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr},
			shim.Config{Tree: dir, Calls: op.Calls(op.All), Decider: rule.NewMatcher(dir, nil)})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = run.Wait(shim.Limits{Timeout: time.Minute, Grace: time.Second})
		return 0
	},
	// Supervise the subject that never ends by itself.
	"forever": func() int {
		dir := os.Getenv("SHIM_TEST_DIR")
		run, err := shim.Start(shim.Command{Path: os.Getenv("SHIM_TEST_SUBJECT"), Args: []string{"subject", "forever"},
			Dir: dir, Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr},
			shim.Config{Tree: dir, Calls: op.Calls(op.All), Decider: rule.NewMatcher(dir, nil)})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = run.Wait(shim.Limits{Timeout: time.Minute, Grace: time.Second})
		return 0
	},
}

// Whichever of guard and supervisor is killed, the subject's whole family is
// gone soon after, and no call of it has failed meanwhile.
func TestKilledSupervisor(t *testing.T) {
	for _, c := range []struct {
		victim string
		sig    unix.Signal
	}{{"guard", unix.SIGKILL}, {"supervisor", unix.SIGKILL}, {"supervisor", unix.SIGQUIT}} {
		victim := c.victim
		t.Run(victim, func(t *testing.T) {
			dir := t.TempDir()
			guard := exec.Command("/proc/self/exe")
			guard.Env = append(os.Environ(), "SHIM_TEST_MODE=forever", "SHIM_TEST_DIR="+dir, "SHIM_TEST_SUBJECT="+needSubject(t))
			var errOut strings.Builder
			guard.Stderr = &errOut
			if err := guard.Start(); err != nil {
				t.Fatal(err)
			}
			var family []int
			await(t, func() bool { family = alive(dir); return len(family) == 4 })
			pid := guard.Process.Pid
			if victim == "supervisor" {
				pid = childOf(t, pid)
			}
			if err := unix.Kill(pid, c.sig); err != nil {
				t.Fatal(err)
			}
			_ = guard.Wait()
			await(t, func() bool {
				for _, p := range family {
					if s := stateOf(p); s != 0 && s != 'Z' {
						return false
					}
				}
				return true
			})
			if strings.Contains(errOut.String(), "not implemented") {
				t.Errorf("the subject saw its calls fail: %s", errOut.String())
			}
		})
	}
}

// Who kills guard and supervisor at once has killed the subject's group, too.
func TestKilledBoth(t *testing.T) {
	dir := t.TempDir()
	guard := exec.Command("/proc/self/exe")
	guard.Env = append(os.Environ(), "SHIM_TEST_MODE=group", "SHIM_TEST_DIR="+dir)
	if err := guard.Start(); err != nil {
		t.Fatal(err)
	}
	var family []int
	await(t, func() bool { family = alive(dir); return len(family) == 3 })
	t.Cleanup(func() {
		for _, p := range family {
			_ = unix.Kill(p, unix.SIGKILL)
		}
	})
	both := exec.Command("kill", "-9", strconv.Itoa(guard.Process.Pid), strconv.Itoa(childOf(t, guard.Process.Pid)))
	if out, err := both.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_ = guard.Wait()
	await(t, func() bool {
		for _, p := range family {
			if s := stateOf(p); s != 0 && s != 'Z' {
				return false
			}
		}
		return true
	})
}

// A process that becomes faultfs may have children already. They are not ours.
func TestEarlierChildren(t *testing.T) {
	dir := t.TempDir()
	sh := exec.Command("sh", "-c", `sleep 1000 & echo $!; SHIM_TEST_MODE=true exec "$0"`, "/proc/self/exe")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh.Args[len(sh.Args)-1] = self
	sh.Env = append(os.Environ(), "SHIM_TEST_DIR="+dir)
	pipe, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	var early int
	if _, err := fmt.Fscan(pipe, &early); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(early, unix.SIGKILL)
	done := make(chan error)
	go func() { done <- sh.Wait() }()
	await(t, func() bool { s := stateOf(sh.Process.Pid); return s == 0 || s == 'Z' })
	if s := stateOf(early); s == 0 || s == 'Z' {
		t.Error("a child that was there before was ended")
	}
	_ = unix.Kill(early, unix.SIGKILL)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// alive lists the processes that have announced themselves in dir.
func alive(dir string) []int {
	var pids []int
	names, _ := filepath.Glob(dir + "/alive.*")
	for _, n := range names {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(n), "alive.%d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var child int
	if _, err := fmt.Sscan(string(text), &child); err != nil {
		t.Fatalf("the guard %d has no child: %v", pid, err)
	}
	return child
}
