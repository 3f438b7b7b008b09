// Package faultlab brings faultfs into the tests of a Go project: scripts that
// run the project's real programs while their file system fails, they are
// killed, or they are held at one operation until something else has happened.
//
// It stands on github.com/rogpeppe/go-internal/testscript, and everything that
// works there works here: "exec name" of a function given to Main, -run, -v,
// -testwork, conditions, commands of one's own. A few calls are all there is:
//
//	func TestMain(m *testing.M) { faultlab.Main(m, nil, "./cmd/tool") }
//
//	func TestScripts(t *testing.T) { faultlab.Run(t, "testdata/script") }
//
//	func TestSave(t *testing.T) { faultlab.Sweep(t, "--tree", "testdata/data", "--", "tool", "save") }
//
// and, for a project that has its testscript.Params already, Extend. Sweep, Place,
// Crash and Race find what is wrong without being told where; a script says what
// must happen at one place:
//
//	# a save on a full disk fails, and gives the lock back
//	needs faultfs
//	exec tool save
//	exec faultfs run --on 'write path=state.json do fail ENOSPC' --expect fail -- tool save
//	stderr 'no space left'
//	! exists tool.lock
//
// Faults are put into scripts with --expect and never with "! exec faultfs run":
// a run that did not take place exits with 125, and would pass that.
//
// # Script commands
//
// These come on top of testscript's. A leading [!] means that the command can
// be negated. Each that waits does so for at most 30 seconds, or for what
// -timeout says.
//
//	advance SOCKET DURATION
//	    Move the virtual clock of the coordinator on this socket (package fence), and
//	    print what it reads. Leases whose time is over are over when it returns.
//
//	[!] cmptree A B
//	    Two directories are equal: names, kinds, modes, contents, link targets.
//	    Differences are printed to stdout, where a script can look at them.
//
//	exits STATUS PROGRAM [ARG...]
//	    Run a program as exec does. It must end with this exit status, or be ended by
//	    the signal that stands there by its name, "SIGKILL".
//
//	gone [-timeout=D] PID|FILE...
//	    Wait until the processes, or those whose ids stand in the files, have ended.
//
//	needs NAME...
//	    Skip the script, and say why, where a program is not on PATH; the name
//	    faultfs also asks whether the kernel can do what faultfs needs. With
//	    FAULTLAB_REQUIRE=1 the script fails instead.
//
//	pidof [-faultfs] [-timeout=D] NAME[/PROGRAM] [VARIABLE]
//	    Set $pid, or the variable named, to the process of a background program:
//	    one started with "exec ... &NAME&", or with NAME as its program. With
//	    /PROGRAM it is the first process below that which runs PROGRAM. The
//	    processes of faultfs are passed over, so that it is the one under test;
//	    with -faultfs they count.
//
//	signal SIGNAL PID...
//	    Send a signal, "TERM", "SIGTERM" or "15", to each process.
//
//	waitfor [-timeout=D] FILE
//	waitfor [-timeout=D] TRACE SELECTOR
//	    Wait until the file exists, or until the trace that "faultfs run --trace"
//	    writes holds an operation that the selector matches, as in
//	    waitfor t.jsonl 'write path=run.lock nth=2'
//
// # Conditions
//
//	[faultfs]  the kernel can do what faultfs needs; with FAULTLAB_REQUIRE=1 an error if not
//	[long]     FAULTLAB_LONG=1: take the time that thorough takes
//	[root]     the tests run as root
//
// # Surroundings
//
// HOME and TMPDIR of a script lie in $WORK. When it ends, so does every process
// that it started: those that run in the background, what they started, and
// daemons. (A daemon that has also cleared its environment is not found.) A
// program that does not heed the interrupt which testscript sends it then is
// killed a second later. One for which a script waits in vain is killed shortly
// before the test's deadline, and the script fails.
//
//	FAULTLAB_BIN=DIR    take the programs from DIR and build nothing
//	FAULTLAB_REQUIRE=1  what is missing is a failure and no skip
//	FAULTLAB_LONG=1     makes [long] true
package faultlab

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Main is for a project's TestMain. It builds faultfs and the programs of the
// project into a directory that stands first on PATH, runs the tests, removes
// the directory and exits. It does not return.
//
// Commands are functions that become programs of the scripts, as those of
// testscript.Main do; nil if there are none.
//
// Each argument of build is a package as "go build" takes it ("./cmd/tool", or
// an import path), relative to the directory of the test. An argument that
// begins with a dash is a flag for that build ("-ldflags=-X main.version=test").
// The race detector, coverage and the build tags of the test itself are passed
// on; faultfs is built without them. A program that does not build ends the
// tests with status 1 and what the compiler said.
//
// Faultfs is built from the faultlab module, at the version that the project's
// go.mod selects. Where FAULTLAB_BIN names a directory, nothing is built.
func Main(m testscript.TestingM, commands map[string]func(), build ...string) {
	testscript.Main(&session{tests: m, commands: commands, build: build}, commands)
}

// Run runs each script in dir (*.txtar and *.txt, as testscript does) as a
// parallel subtest, with the commands and conditions of this package.
func Run(t *testing.T, dir string) {
	t.Helper()
	p := testscript.Params{Dir: dir, RequireUniqueNames: true}
	Extend(&p)
	testscript.Run(t, p)
}

// Extend adds this package's commands, conditions and surroundings to params
// that a project has already. The project's own stay: its Setup runs after this
// package's, its commands win where names are the same, and its Condition is
// asked for all but the three of this package.
func Extend(p *testscript.Params) {
	p.Setup = setup(p.Setup)
	p.Condition = conditions(p.Condition)
	cmds := make(map[string]scriptFunc, len(commands)+len(p.Cmds))
	for i := range commands {
		cmds[commands[i].name] = watched(commands[i].exec)
	}
	for name, cmd := range p.Cmds {
		cmds[name] = watched(cmd)
	}
	p.Cmds = cmds
}
