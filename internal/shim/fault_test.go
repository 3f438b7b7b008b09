//go:build linux

package shim_test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A short or torn operation puts exactly k bytes into the subject's own open
// file, whatever the call and the file.
func TestShort(t *testing.T) {
	for _, c := range []struct{ shape, rule, out, file string }{
		{"append", "write path=out nth=2 do short 7", "write 7\nwrite 1", "head-abcdefg!"},
		{"pwrite", "write path=out nth=1 do short 7", "pwrite 7\noffset 0", "\x00\x00\x00abcdefg"},
		{"writev", "write path=out nth=1 do short 8", "writev 8\nlength 31007\nwritev 20", letters(8) + letters(20)},
		{"writev", "write path=out nth=1 do short 3", "writev 3\nlength 31007\nwritev 20", letters(3) + letters(20)},
		{"edge", "write path=out do short 19", "write 19", letters(19)},
		{"fsize", "write path=out nth=1 do short 7", "write 4\nwrite -1 File too large", letters(4)},
		{"direct", "write path=out do short 4096", "write 4096", letters(4096)},
		{"direct", "write path=out do short 100", "write -1 Invalid argument", ""},
		{"copy", "write path=out do short 7", "copy 7\noffset 7", "0123456"},
		{"sendfile", "write path=out do short 7", "sendfile 7\noffset 7", "0123456"},
		{"splice", "write path=out do short 7", "splice 7", letters(7)},
		{"pipe", "write path=out nth=1 do short 7", "write 7\nwrite -1 Broken pipe", "-"},
		{"read", "read path=in nth=1 do short 7", "read 7\nread 13", ""},
	} {
		t.Run(c.shape, func(t *testing.T) {
			tr := try(t, c.rule).write("in", "0123456789ABCDEFGHIJ").c("shape", c.shape).ok(c.out)
			if c.file != "-" && c.shape != "read" {
				tr.holds("out", c.file)
			}
		})
	}
}

func TestShortThenFail(t *testing.T) {
	try(t, "write path=out nth=2 do short 7 fail ENOSPC").c("shape", "append").
		ok("write 7\nwrite -1 No space left on device").holds("out", "head-abcdefg")
}

// A copy asks for more than there is; the disk counts what there is.
func TestBudgetOfCopies(t *testing.T) {
	for _, c := range []struct{ rule, out string }{
		{"write path=out budget=5 do fail ENOSPC", "01234"},
		{"write path=out nth=1 do short 3", "012"},
	} {
		tr := try(t, c.rule).write("in", "0123456789").run("python3", "-c",
			"import os\nos.copy_file_range(os.open('in',0),os.open('out',os.O_CREAT|os.O_WRONLY),1<<40)")
		tr.ok("").holds("out", c.out)
	}
	tr := try(t, "write path=out budget=10 do fail ENOSPC").write("in", "0123456789")
	tr.run("cp", "in", "out").holds("out", "0123456789")
	if tr.exit.Code != 0 {
		t.Errorf("a copy that just fits failed: %s", tr.errOut)
	}
}

func TestBudget(t *testing.T) {
	try(t, "write path=out budget=11 do fail ENOSPC").c("shape", "append").
		ok("write 6\nwrite -1 No space left on device").holds("out", "head-abcdef")
}

// A kill strikes before, in the middle of or after the operation, and from
// there on the subject does nothing.
func TestKill(t *testing.T) {
	const size = 8 << 20
	for _, c := range []struct {
		action string
		bytes  int
	}{{"kill", 0}, {"kill mid 5000001", 5000001}, {"kill after", size}} {
		t.Run(c.action, func(t *testing.T) {
			tr := try(t, "write path=out do "+c.action).c("big", "8388608").ok("").killed()
			tr.holds("out", letters(c.bytes))
			if tr.exists("after") {
				t.Error("the subject went on after the kill")
			}
		})
	}
}

// Killing the calling process leaves its parent, which is told.
func TestKillProcess(t *testing.T) {
	for _, action := range []string{"kill process", "kill process after"} {
		tr := try(t, "create path=child do "+action).
			run("sh", "-c", "sh -c ': > child; : > never'; echo $?")
		tr.ok("137")
		if tr.exists("never") || tr.exists("child") != strings.HasSuffix(action, "after") {
			t.Errorf("%s: child %v, never %v", action, tr.exists("child"), tr.exists("never"))
		}
	}
}

// A failing close has closed: the descriptor is gone and its lock free.
func TestCloseFails(t *testing.T) {
	try(t, "close path=out nth=1 do fail EIO").c("close").
		ok("close -1 Input/output error\nagain -1 Bad file descriptor\nflock 0")
}

// A lock that has to be waited for may block under our eyes.
func TestKillAfterABlockedLock(t *testing.T) {
	tr := try(t, "lock path=out nth=2 do kill after").seeAll().c("wait").ok("").killed()
	last := tr.log.known[len(tr.log.known)-1]
	if !last.Known || last.Errno != 0 {
		t.Errorf("the lock's result is %+v, want success", last)
	}
	if !tr.exists("locked") {
		t.Error("the kill did not wait for the lock")
	}
}

// A copy tries to clone first: a kill after that strikes, whatever it returned.
func TestKillAfterAClone(t *testing.T) {
	try(t, "ioctl path=out do kill after").write("in", "data").run("cp", "in", "out").ok("").killed()
}

func TestSignalBefore(t *testing.T) {
	try(t, "write path=out do signal SIGUSR1").c("signalled").ok("write 1\nsignals 0").
		holds("out", "x").holds("signals", "s")
}

// SIGSTOP stops before the operation; after SIGCONT the same one comes again
// and counts once.
func TestStopBefore(t *testing.T) {
	tr := try(t, "write path=out do signal SIGSTOP").seeAll()
	run := tr.begin(needSubject(t), "stopped")
	await(t, func() bool { return stateOf(run.Pid()) == 'T' })
	tr.holds("out", "")
	if err := unix.Kill(run.Pid(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	tr.exit, tr.err = run.Wait(tr.limits)
	tr.collect()
	tr.ok("write 1").holds("out", "x")
	if n := strings.Count(strings.Join(tr.log.lines, "\n"), "write out"); n != 1 {
		t.Errorf("the write was counted %d times", n)
	}
}

func TestHold(t *testing.T) {
	tr := try(t, "create path=late do hold until=go mark=held")
	run := tr.begin("sh", "-c", ": > early; : > late; echo done")
	await(t, func() bool { return tr.exists("held") })
	if !tr.exists("early") || tr.exists("late") {
		t.Error("held at the wrong operation")
	}
	tr.write("go", "")
	tr.exit, tr.err = run.Wait(tr.limits)
	tr.collect()
	tr.ok("done")
}

func TestDelay(t *testing.T) {
	try(t, "write path=out do delay 20ms").c("vfork").ok("child 0").holds("out", "x")
}

// Every thread and every kind of child is under the same rules.
func TestFamilies(t *testing.T) {
	try(t, "write path=out nth=1..1000 do fail EIO").c("threads").ok("failed 1000").holds("out", "")
	try(t, "write path=out do fail EIO").c("vfork").ok("child 5")
	try(t, "write path=out do fail ENOSPC").run("python3", "-c",
		"try:\n with open('out','w') as f: f.write('x')\nexcept OSError as e: print(e.strerror)").ok("No space left on device")
	try(t, "write path=out do fail ENOSPC").run("node", "-e",
		"try { require('fs').writeFileSync('out', 'x') } catch (e) { console.log(e.code) }").ok("ENOSPC")
}
