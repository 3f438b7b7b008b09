package faultlab_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledExperiments: whichever of faultfs's two processes is killed with
// SIGKILL in the middle of an experiment, nothing of the subject lives on, and
// what its copies took, on the disk and in /dev/shm, goes with the next start.
func TestKilledExperiments(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	otherDisk := ""
	if distinct(t, "/dev/shm", t.TempDir()) {
		otherDisk = "{copies}/*/case/tmp"
	}
	for _, test := range []struct {
		line string
		runs int    // of the subject that end before the one that waits
		at   string // what must be there while it does; "" is anything
	}{
		{"sweep -- %s", 10, ""},
		{"place --starts cwd,closed -- %s", 10, ""},
		{"place --only TMPDIR=other-disk -- %s", 0, otherDisk},
		{"crash -- %s", 8, ""},
		// Only while they run one after the other: in a play, one that waits for us
		// waits for ever. And where two runs wait at once, both count as one.
		{"race --keep-going -- %s ::: %s", 3, ""},
		{"audit -- %s", 10, ""},
	} {
		for _, victim := range []string{"supervisor", "guard"} {
			t.Run(test.line+" "+victim, func(t *testing.T) {
				t.Parallel()
				k := begin(t, test.line)
				k.hold(test.runs, test.at)
				k.kill(victim)
				k.clear()
			})
		}
	}
}

func distinct(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y syscall.Stat_t
	return syscall.Stat(a, &x) == nil && syscall.Stat(b, &y) == nil && x.Dev != y.Dev
}

// killed is an experiment on its way, in a temporary folder of its own.
type killed struct {
	*testing.T
	dir, fifo string
	cmd       *exec.Cmd
	said      bytes.Buffer
	ended     chan struct{}
}

// begin starts an experiment over a program that changes a file, and before that
// reads a FIFO to its end.
func begin(t *testing.T, line string) *killed {
	dir := t.TempDir()
	k := &killed{T: t, dir: dir, fifo: filepath.Join(dir, "fifo"), ended: make(chan struct{})}
	if err := syscall.Mkfifo(k.fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "count"), "cat "+k.fifo+"\n[ -e number ] && read n <number\necho $((n + 1)) >number\n")
	k.cmd = k.faultfs(strings.ReplaceAll(line, "%s", "sh "+filepath.Join(dir, "count")))
	k.cmd.Stdout, k.cmd.Stderr = &k.said, &k.said
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = k.cmd.Wait()
		close(k.ended)
		// Whoever waits to write must not wait for ever.
		if f, err := os.OpenFile(k.fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			t.Cleanup(func() { _ = f.Close() })
		}
	}()
	return k
}

func (k *killed) faultfs(line string) *exec.Cmd {
	name, rest, _ := strings.Cut(line, " ")
	cmd := exec.Command("faultfs", strings.Fields(name+" --timeout 5m "+rest)...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), "TMPDIR="+filepath.Join(k.dir, "tmp"))
	return cmd
}

// hold lets so many runs go on, and those at which nothing stands where at says,
// and keeps the next one.
func (k *killed) hold(runs int, at string) {
	k.Helper()
	for n := 0; ; n++ {
		for k.read() { // by one that has not yet seen the end
			time.Sleep(time.Millisecond)
		}
		w, err := os.OpenFile(k.fifo, os.O_WRONLY, 0) // waits for a reader
		if err != nil {
			k.Fatal(err)
		}
		select {
		case <-k.ended:
			k.Fatalf("it ended after %d runs\n%s", n, &k.said)
		default:
		}
		there, _ := filepath.Glob(strings.Replace(at, "{copies}", filepath.Join(k.dir, "tmp/faultfs-*"), 1))
		if n >= runs && (at == "" || len(there) > 0) {
			k.Cleanup(func() { _ = w.Close() })
			return
		}
		_ = w.Close()
	}
}

// read reports whether somebody has the FIFO open.
func (k *killed) read() bool {
	fd, err := syscall.Open(k.fifo, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	_ = syscall.Close(fd)
	return true
}

// kill kills one of faultfs's processes, and waits until all that stood below it
// have ended.
func (k *killed) kill(victim string) {
	k.Helper()
	guard := k.cmd.Process.Pid
	family := descendants(guard)
	if len(family) < 3 {
		k.Fatalf("guard %d: only %v below it", guard, family)
	}
	pid := guard
	if victim == "supervisor" {
		pid = family[0]
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		k.Fatal(err)
	}
	<-k.ended
	deadline := time.Now().Add(30 * time.Second)
	for _, pid := range family {
		for runs(pid) {
			if time.Now().After(deadline) {
				out, _ := exec.Command("ps", "-o", "pid,ppid,stat,lstart,wchan,args", "-p", strconv.Itoa(pid)).Output()
				k.Fatalf("process %d of %v lives on\n%s", pid, family, out)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// descendants lists all processes below one, parents first.
func descendants(pid int) []int {
	var all []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(word); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	state := stat[bytes.LastIndexByte(stat, ')')+2]
	return state != 'Z' && state != 'X'
}

// clear starts faultfs again, which takes away what was left.
func (k *killed) clear() {
	k.Helper()
	before := k.left()
	if out, err := k.faultfs("sweep --ops mkdir -- mkdir d").CombinedOutput(); err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	for _, dir := range before {
		if _, err := os.Lstat(dir); err == nil {
			k.Errorf("%s is left behind", dir)
		}
	}
}

// left lists the folders of the experiment that was killed.
func (k *killed) left() []string {
	copies, _ := filepath.Glob(filepath.Join(k.dir, "tmp/*"))
	links, _ := filepath.Glob(filepath.Join(k.dir, "tmp/faultfs-*/*/case/tmp"))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			copies = append(copies, to)
		}
	}
	return copies
}
