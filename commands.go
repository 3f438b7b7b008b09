package faultlab

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// command is one script command, and its documentation.
type command struct {
	name      string
	usage     []string // one line for each form, without the name
	doc       string
	negatable bool
	run       func(ts *testscript.TestScript, neg bool, args []string) error
}

// commands is the table of all there are, sorted. The package's documentation
// is printed from it; a test says how to bring that up to date.
var commands = []command{{
	name: "advance", usage: []string{"SOCKET DURATION"}, run: advance,
	doc: `Move the virtual clock of the coordinator on this socket (package fence), and
print what it reads. Leases whose time is over are over when it returns.`,
}, {
	name: "cmptree", usage: []string{"A B"}, negatable: true, run: cmptree,
	doc: `Two directories are equal: names, kinds, modes, contents, link targets.
Differences are printed to stdout, where a script can look at them.`,
}, {
	name: "exits", usage: []string{"STATUS PROGRAM [ARG...]"}, run: exits,
	doc: `Run a program as exec does. It must end with this exit status, or be ended by
the signal that stands there by its name, "SIGKILL".`,
}, {
	name: "gone", usage: []string{"[-timeout=D] PID|FILE..."}, run: gone,
	doc: `Wait until the processes, or those whose ids stand in the files, have ended.`,
}, {
	name: "needs", usage: []string{"NAME..."}, run: needs,
	doc: `Skip the script, and say why, where a program is not on PATH; the name
faultfs also asks whether the kernel can do what faultfs needs. With
FAULTLAB_REQUIRE=1 the script fails instead.`,
}, {
	name: "pidof", usage: []string{"[-faultfs] [-timeout=D] NAME[/PROGRAM] [VARIABLE]"}, run: pidof,
	doc: `Set $pid, or the variable named, to the process of a background program:
one started with "exec ... &NAME&", or with NAME as its program. With
/PROGRAM it is the first process below that which runs PROGRAM. The
processes of faultfs are passed over, so that it is the one under test;
with -faultfs they count.`,
}, {
	name: "signal", usage: []string{"SIGNAL PID..."}, run: sendSignal,
	doc: `Send a signal, "TERM", "SIGTERM" or "15", to each process.`,
}, {
	name: "waitfor", usage: []string{"[-timeout=D] FILE", "[-timeout=D] TRACE SELECTOR"}, run: waitfor,
	doc: `Wait until the file exists, or until the trace that "faultfs run --trace"
writes holds an operation that the selector matches, as in
waitfor t.jsonl 'write path=run.lock nth=2'`,
}}

// errUsage makes exec print how the command is used.
var errUsage = errors.New("wrong arguments")

// exec runs c as a testscript command.
func (c *command) exec(ts *testscript.TestScript, neg bool, args []string) {
	if neg && !c.negatable {
		ts.Fatalf("unsupported: ! %s", c.name)
	}
	switch err := c.run(ts, neg, args); {
	case errors.Is(err, errUsage):
		ts.Fatalf("usage: %s", strings.Join(c.forms(), "\n       "))
	case err != nil:
		ts.Fatalf("%s: %v", c.name, err)
	}
}

// forms is how c is written, one line for each form.
func (c *command) forms() []string {
	var lines []string
	for _, u := range c.usage {
		line := c.name + " " + u
		if c.negatable {
			line = "[!] " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// manual is the documentation of all commands.
func manual() string {
	var b strings.Builder
	for i := range commands {
		if i > 0 {
			b.WriteString("\n")
		}
		for _, form := range commands[i].forms() {
			fmt.Fprintln(&b, form)
		}
		for line := range strings.Lines(commands[i].doc) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	return b.String()
}

const (
	// patience is how long a command waits where the script does not say.
	patience = 30 * time.Second
	// glance is how often it looks. Looking costs microseconds, and a script
	// waits hundreds of times.
	glance = 2 * time.Millisecond
)

// timeout takes a leading -timeout=D off args.
func timeout(args []string) (time.Duration, []string, error) {
	if len(args) == 0 {
		return patience, args, nil
	}
	text, ok := strings.CutPrefix(args[0], "-timeout=")
	if !ok {
		return patience, args, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, nil, fmt.Errorf("bad -timeout %q: want a time above 0 with its unit, such as 5s", text)
	}
	return d, args[1:], nil
}

// await looks until look says yes or fails, or the time is over.
func await(limit time.Duration, look func() (bool, error)) (bool, error) {
	end := time.Now().Add(limit)
	for {
		// The time is read first, so that one look follows the very end.
		late := time.Now().After(end)
		if ok, err := look(); ok || err != nil || late {
			return ok, err
		}
		time.Sleep(glance)
	}
}
