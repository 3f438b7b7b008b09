package faultlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// outcome is how a script ended: it implements testscript.T.
type outcome struct {
	skipped, failed bool
	log             strings.Builder
}

func (o *outcome) Skip(args ...any)  { o.skipped = true; o.Log(args...); runtime.Goexit() }
func (o *outcome) Fatal(args ...any) { o.Log(args...); o.FailNow() }
func (o *outcome) FailNow()          { o.failed = true; runtime.Goexit() }
func (o *outcome) Parallel()         {}
func (o *outcome) Verbose() bool     { return false }
func (o *outcome) Log(args ...any)   { fmt.Fprintln(&o.log, args...) }

func (o *outcome) Run(_ string, f func(testscript.T)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(o)
	}()
	<-done
}

// play runs one script with p's additions.
func play(t *testing.T, text string, p testscript.Params) *outcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.txtar")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Files = []string{file}
	Extend(&p)
	o := new(outcome)
	o.Run("", func(testscript.T) { testscript.RunT(o, p) })
	return o
}

// want is what a script's log must hold; empty: it passes.
var plays = []struct{ name, script, want string }{
	{"negation", "! waitfor x", `unsupported: ! waitfor`},
	{"negation of gone", "! gone 77", `unsupported: ! gone`},
	{"usage", "waitfor", `usage: waitfor \[-timeout=D\] FILE\n       waitfor \[-timeout=D\] TRACE SELECTOR`},
	{"usage of cmptree", "cmptree a", `usage: \[!\] cmptree A B`},
	{"bad timeout", "waitfor -timeout=soon x", `bad -timeout "soon": want a time above 0`},

	{"waitfor", "exec sh -c 'mkfifo p; (read x < p; : > made) > log 2>&1 &'\nexec sh -c 'echo > p'\nwaitfor made", ""},
	{"waitfor in vain", "waitfor -timeout=20ms made", `waitfor: made did not appear within 20ms`},
	{"waitfor an ended program", "exec true &\nwaitfor made", `made did not appear, and every background program has ended`},
	{"waitfor an operation", "waitfor t 'write path=f nth=2'\n" + traceFile, ""},
	{"waitfor one by its call", "waitfor t fsync path=f\n" + traceFile, ""},
	{"waitfor one too many", "waitfor -timeout=20ms t 'write path=f nth=3'\n" + traceFile, `no operation "write path=f nth=3" in the trace .*nearest: write path=./f nth=2`},
	{"waitfor a bad selector", "waitfor t 'wirte path=f'\n" + traceFile, `unknown operation "wirte": did you mean "write"`},
	{"waitfor no trace", "waitfor t 'write path=f'\n-- t --\nhello\n", `is no trace`},

	{"exits", "exits 3 sh -c 'exit 3'\nexits 0 true\nexits SIGTERM sh -c 'kill -TERM $$'", ""},
	{"exits otherwise", "exits 3 true", `exits: true ended with 0, not with 3`},
	{"exits by a signal", "exits 0 sh -c 'kill -9 $$'", `sh ended with SIGKILL, not with 0`},
	{"exits not started", "exits 1 no-such-program", `no-such-program`},
	{"exits of no status", "exits ok true", `bad status "ok"`},

	{"pidof", "exec sleep 1000 &one&\nexec sleep 1000 &two&\npidof one\npidof two other\nexec sh -c 'test '$pid' != '$other\nsignal TERM $pid $other\ngone $pid $other", ""},
	{"pidof a program", "exec sleep 1000 &\npidof sleep\nsignal 15 $pid\ngone $pid", ""},
	{"pidof two", "exec sleep 1000 &\nexec sleep 1000 &\npidof sleep", `pidof: both \d+ and \d+ run sleep`},
	{"pidof a child", "exec sh -c 'sleep 1000; true' &job&\npidof job sh\npidof job/sleep sl\nexec sh -c 'test '$sh' != '$sl", ""},
	{"pidof nothing", "pidof sleep", `no program runs in the background`},
	{"pidof in vain", "exec sleep 1000 &\npidof -timeout=20ms cat", `no process cat within 20ms`},
	{"pidof a bad variable", "exec sleep 1000 &\npidof sleep 1x", `bad variable "1x"`},
	{"signal nobody", "signal TERM $pid", `bad process id ""`},
	{"signal a group", "signal TERM -7", `bad process id "-7"`},
	{"signal unknown", "signal FOO 77777", `unknown signal "FOO"`},
	{"gone in vain", "exec sleep 1000 &\npidof sleep\ngone -timeout=20ms $pid", `process \d+ \(sleep 1000\) still runs after 20ms`},
	{"gone by a file", "exec sh -c 'true & echo $! > pids; wait'\ngone pids", ""},

	{"cmptree equal", "exec cp -a a b\ncmptree a b\n" + treeFiles, ""},
	{"cmptree equal, negated", "exec cp -a a b\n! cmptree a b\n" + treeFiles, `a and b do not differ`},
	{"cmptree contents", "exec cp -a a b\ncp new b/x\n! cmptree a b\nstdout '^x: 2 bytes in the first, 4 in the second, different from byte 1 on$'\n" + treeFiles, ""},
	{"cmptree names", "exec cp -a a b\nrm a/x\nrm b/d/y\ncmptree a b\n" + treeFiles, `d/y: only in the first\nx: only in the second\n(.*\n)*.*a and b differ in 2 places`},
	{"cmptree modes", "exec cp -a a b\nchmod 600 b/x\n! cmptree a b\nstdout '^x: -rw-r--r-- in the first, -rw------- in the second$'\n" + treeFiles, ""},
	{"cmptree kinds", "exec cp -a a b\nrm b/d/y\nmkdir b/d/y\n! cmptree a b\nstdout '^d/y: -rw-r--r-- in the first, drwx'\n" + treeFiles, ""},
	{"cmptree links", "exec cp -a a b\nsymlink a/l -> x\nsymlink b/l -> y\n! cmptree a b\nstdout '^l: links to \"x\" in the first, \"y\" in the second$'\n" + treeFiles, ""},
	{"cmptree itself", "cmptree a ./a\n" + treeFiles, `cannot compare a directory with itself`},
	{"cmptree a file", "cmptree a new\n" + treeFiles, `new is not a directory`},

	{"advance", longName + "exec coordinator serve --socket s --state l.db --clock virtual &c&\nwaitfor l.db\nadvance s 90s\nstdout '^1m30s$'\n", ""},
	{"advance backwards", "exec coordinator serve --socket s --state l.db --clock virtual &c&\nwaitfor l.db\nadvance s -1s\n", `a clock never moves backwards`},
	{"advance a bad time", "advance s soon", `bad time "soon": want one with its unit`},
	{"advance nobody", "advance s 1s", `no coordinator there`},

	{"unknown condition", "[odd] exec true", `unknown condition`},
	{"surroundings", "exec sh -c 'cd && pwd && echo $TMPDIR && : > $TMPDIR/x'\nstdout ^$WORK/.home$\nstdout ^$WORK/.tmp$", ""},
}

// longName makes the socket's path longer than the kernel takes.
const longName = "mkdir a123456789b123456789c123456789d123456789e123456789f123456789\ncd a123456789b123456789c123456789d123456789e123456789f123456789\n"

const traceFile = `-- t --
{"point":"create path=./f nth=1","kind":"create","path":"f","call":"openat","pid":7,"tid":7}
{"point":"write path=./f nth=1","kind":"write","path":"f","call":"write","pid":7,"tid":7,"size":5}
{"point":"write path=./f nth=2","kind":"write","path":"f","call":"write","pid":7,"tid":7,"size":5}
{"point":"sync path=./f nth=1","kind":"sync","path":"f","call":"fsync","pid":7,"tid":7}
`

const treeFiles = "-- a/x --\n1\n-- a/d/y --\n2\n-- new --\n123\n"

func TestCommands(t *testing.T) {
	t.Parallel()
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			o := play(t, p.script, testscript.Params{})
			if o.failed != (p.want != "") {
				t.Errorf("failed = %v\n%s", o.failed, o.log.String())
			}
			if !regexp.MustCompile(p.want).MatchString(o.log.String()) {
				t.Errorf("want %s in\n%s", p.want, o.log.String())
			}
		})
	}
}

// TestManual holds the package's documentation to the table.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("faultlab.go")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(manual()) {
		want.WriteString(strings.TrimRight("//\t"+line, "\t\n") + "\n")
	}
	if !strings.Contains(string(text), want.String()) {
		t.Errorf("faultlab.go's comment is to hold, below \"Script commands\":\n%s", want.String())
	}
	for i := 1; i < len(commands); i++ {
		if commands[i-1].name >= commands[i].name {
			t.Errorf("%s stands before %s", commands[i-1].name, commands[i].name)
		}
	}
}

// TestEndOfScript: whatever way a script ends, nothing that it started lives on.
func TestEndOfScript(t *testing.T) {
	t.Parallel()
	start := "exec sh -c 'setsid sleep 1000 > log 2>&1 & echo $! > pid1'\n" + // a daemon
		"! exec sh -c 'sleep 1000 & echo $! > pid2; sleep 1000; true' &\nwaitfor pid2\n" // a shell that does not heed an interrupt
	for name, end := range map[string]string{"passed": "", "failed": "exec false\n", "skipped": "skip\n", "stopped": "stop\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			o := play(t, start+end, testscript.Params{WorkdirRoot: work})
			if o.failed != (name == "failed") {
				t.Errorf("failed = %v\n%s", o.failed, o.log.String())
			}
			nothingLives(t, work)
		})
	}
}

func nothingLives(t *testing.T, work string) {
	t.Helper()
	out, err := exec.Command("sh", "-c", "cat "+work+"/*/pid*").Output()
	if err != nil {
		t.Fatal(err)
	}
	pids, err := parsePids(strings.Fields(string(out)))
	if err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("%s (%d) lives on", programOf(pid), pid)
		}
	}
}

// TestLingering: a child that holds the pipe of its parent's output does not
// hold up the script for ever.
func TestLingering(t *testing.T) {
	was := lingering
	lingering = 200 * time.Millisecond
	defer func() { lingering = was }()
	for name, script := range map[string]string{
		"foreground": "exec sh -c 'sleep 1000 & echo $! > pid'",
		"background": "exec sh -c 'sleep 1000 & echo $! > pid' &\nwait",
	} {
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			o := play(t, script, testscript.Params{WorkdirRoot: work})
			if !o.failed || !strings.Contains(o.log.String(), "kept the output of one that had ended") {
				t.Errorf("failed = %v\n%s", o.failed, o.log.String())
			}
			nothingLives(t, work)
		})
	}
}

// impatient is a test with a deadline.
type impatient struct{ outcome }

func (o *impatient) Run(_ string, f func(testscript.T)) {
	o.outcome.Run("", func(testscript.T) { f(o) })
}

func (*impatient) Deadline() (time.Time, bool) { return time.Now().Add(300 * time.Millisecond), true }

// TestDeadline: a program that ignores its interrupt does not outlive the test.
func TestDeadline(t *testing.T) {
	t.Parallel()
	file, work := filepath.Join(t.TempDir(), "script.txtar"), t.TempDir()
	text := "exec sh -c 'trap \"\" INT; echo $$ > pid; exec sleep 1000' &job&\nwaitfor pid\nwait job\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := testscript.Params{Files: []string{file}, WorkdirRoot: work}
	Extend(&p)
	o := new(impatient)
	o.Run("", func(testscript.T) { testscript.RunT(o, p) })
	if !o.failed || !strings.Contains(o.log.String(), "would not end") {
		t.Errorf("failed = %v\n%s", o.failed, o.log.String())
	}
	nothingLives(t, work)
}
