//go:build linux

package crash

import (
	"encoding/binary"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

// Killed at any moment without a supervisor, a program leaves a tree that its
// record foretold. The moments are counted in what the kernel tells of the tree's
// changes: a kill comes just behind one of them, wherever the program is by then.
func TestBareKillsAreForetold(t *testing.T) {
	t.Parallel()
	bare := workloads[:0:0]
	for _, w := range workloads {
		switch w.name {
		case "replace", "append", "names", "in place":
			bare = append(bare, w)
		}
	}
	kills := 20 / len(bare)
	if os.Getenv("FAULTLAB_LONG") == "1" {
		kills = 500 / len(bare)
	}
	for _, w := range bare {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := study(t, w.setup, w.script)
			foretold := deaths(t, c)
			_, whole := killed(t, c, w.script, -1)
			seen := make(map[string]bool)
			chance := seeded(t)
			for range kills {
				after := chance.IntN(whole + 1)
				got, _ := killed(t, c, w.script, after)
				key := c.wording(got)
				if _, known := foretold[key]; !known {
					t.Errorf("killed after %d of %d changes: nobody foretold %s", after, whole, key)
				}
				seen[key] = true
			}
			t.Logf("%d kills left %d of %d trees", kills, len(seen), len(foretold))
		})
	}
}

// seeded is chance that FAULTLAB_SEED repeats, as far as the kernel's own does not
// matter.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("FAULTLAB_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("FAULTLAB_SEED=%d chooses the same moments", seed)
	return rand.New(rand.NewPCG(seed, 0))
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

// killed runs the program bare in a copy, kills it after so many changes (-1:
// never), and says how many there were.
func killed(t *testing.T, c *Crash, script string, after int) (tree.Delta, int) {
	t.Helper()
	count := 0
	run, err := c.runner.Do(t.Context(), trial.Case{State: &trial.State{Alone: true, Build: func(dir string, touch func(string)) (err error) {
		touchAll(dir, touch)
		defer touchAll(dir, touch)
		count, err = runBare(dir, script, after)
		return err
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return run.Tree, count
}

func touchAll(dir string, touch func(string)) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		touch(e.Name())
	}
}

func runBare(dir, script string, after int) (int, error) {
	watch, err := watched(dir)
	if err != nil {
		return 0, err
	}
	defer watch.Close()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	count := make(chan int)
	go func() { count <- follow(watch, after, kill) }()
	_ = cmd.Wait()
	// What sh had started may still be within a call, and comes to us when it has ended.
	for end := time.Now().Add(time.Minute); kill() == nil && time.Now().Before(end); {
		_, _ = unix.Wait4(-cmd.Process.Pid, nil, unix.WNOHANG, nil)
		runtime.Gosched()
	}
	_ = watch.SetReadDeadline(time.Now()) // what has been queued by then is read
	return <-count, nil
}

// watched tells of changes in a directory and those below it.
func watched(dir string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	const changes = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
		unix.IN_DELETE | unix.IN_OPEN | unix.IN_CLOSE_WRITE
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_, err = unix.InotifyAddWatch(fd, path, changes)
		}
		return err
	})
	return os.NewFile(uintptr(fd), "inotify"), err
}

// follow counts what is told and kills behind the change that is meant.
func follow(watch *os.File, after int, kill func() error) int {
	count := 0
	if after == 0 {
		_ = kill()
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := watch.Read(buf)
		if err != nil {
			return count
		}
		for at := 0; at < n; {
			name := binary.NativeEndian.Uint32(buf[at+unix.SizeofInotifyEvent-4:])
			at += unix.SizeofInotifyEvent + int(name)
			if count++; count == after {
				_ = kill()
			}
		}
	}
}
