//go:build linux

package crash

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

// Killed at any moment without a supervisor, a program leaves a tree that its
// record foretold.
func TestBareKillsAreForetold(t *testing.T) {
	t.Parallel()
	kills := 12
	if os.Getenv("FAULTLAB_LONG") == "1" {
		kills = 250
	}
	for _, w := range workloads[:2] {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := study(t, w.setup, w.script)
			foretold := deaths(t, c)
			whole := lasts(t, c, w.script)
			seen := make(map[string]bool)
			for range kills {
				after := time.Duration(rand.Int64N(int64(whole)))
				got := killed(t, c, w.script, after)
				key := c.wording(got)
				if _, known := foretold[key]; !known {
					t.Errorf("killed after %v: nobody foretold %s", after, key)
				}
				seen[key] = true
			}
			t.Logf("%d kills left %d of %d trees", kills, len(seen), len(foretold))
		})
	}
}

// deaths are the trees that the program's death alone can leave.
func deaths(t *testing.T, c *Crash) map[string]bool {
	t.Helper()
	out := make(map[string]bool)
	for _, k := range c.Cases() {
		p := c.byChoice[k.Choice]
		if !p.Dies {
			continue
		}
		k.State.Alone = true
		run, err := c.runner.Do(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		out[c.wording(run.Tree)] = true
	}
	return out
}

func (c *Crash) wording(d tree.Delta) string {
	s := ""
	for _, path := range d.Paths() {
		if !tree.Same(d[path], c.controls.Base[path], false) {
			s += path + " " + told(d[path], d[path]) + "; "
		}
	}
	return s
}

// killed runs the program bare in a copy and kills it.
func killed(t *testing.T, c *Crash, script string, after time.Duration) tree.Delta {
	t.Helper()
	run, err := c.runner.Do(t.Context(), trial.Case{State: &trial.State{Alone: true, Build: func(dir string, touch func(string)) error {
		for _, name := range []string{"f", "t"} {
			touch(name)
		}
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		timer := time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer timer.Stop()
		_ = cmd.Wait()
		// What sh had started may still be within a call.
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); runtime.Gosched() {
			if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) != nil {
				break
			}
		}
		return nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return run.Tree
}

// lasts is about how long the program takes.
func lasts(t *testing.T, c *Crash, script string) time.Duration {
	t.Helper()
	began := time.Now()
	killed(t, c, script, time.Minute)
	return time.Since(began)
}
