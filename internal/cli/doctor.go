//go:build linux

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

// capability is something that the machine must have. Each is tried, not
// looked up: what a version promises, a container may refuse.
type capability struct {
	name   string
	needed bool // without it faultfs is void
	try    func() error
	remedy string
}

var capabilities = []capability{
	{"processes list their children in /proc", true, tryChildren,
		"use a kernel with CONFIG_PROC_CHILDREN, and mount /proc without hidepid"},
	{"seccomp user notification", true, tryNotification,
		"use Linux 5.19 or newer; in a container allow the seccomp call (for Docker: --security-opt seccomp=unconfined); do not run faultfs inside faultfs"},
	{"looking into a subject's memory and descriptors", true, tryLooking,
		"allow process_vm_readv and /proc/PID/fd of one's own processes (for Docker: --cap-add SYS_PTRACE)"},
	{"a received call is safe from signals (WAIT_KILLABLE_RECV)", true, trySignals,
		"use a newer kernel: early ones with this flag lose answers that race with a signal"},
	{"catching a call at its return (short, kill after, failing close)", true, tryReturn,
		"allow ptrace of one's own children: sysctl kernel.yama.ptrace_scope must be 0, 1 or 2 with CAP_SYS_PTRACE"},
	{"receiving ahead of others", false, tryAhead,
		"optional: CAP_SYS_NICE, or a nice limit of -19, makes runs that signals disturb rarer on a busy machine"},
}

func newDoctor(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine lacks, and the remedy",
		Long: `Try each capability that faultfs needs, one a line. Exit status 0 if all that is
needed is there, 125 if not.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return doctor(std) },
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected %q: %s takes no arguments", args[0], cmd.CommandPath())
	}
	return nil
}

func doctor(std streams) error {
	end := status(statusOK)
	for _, c := range capabilities {
		if end != statusOK {
			fmt.Fprintf(std.out, "untried  %s\n", c.name)
			continue
		}
		err := c.try()
		switch {
		case err == nil:
			fmt.Fprintf(std.out, "ok       %s\n", c.name)
			continue
		case c.needed:
			end = statusVoid
			fmt.Fprintf(std.out, "missing  %s: %s\n", c.name, firstLine(err))
		default:
			fmt.Fprintf(std.out, "absent   %s: %s\n", c.name, firstLine(err))
		}
		fmt.Fprintf(std.out, "         remedy: %s\n", c.remedy)
	}
	return end
}

func tryChildren() error {
	_, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	return err
}

func tryNotification() error {
	_, err := probe("exit 7", "", nil)
	return err
}

func tryLooking() error {
	p, err := probe("printf a > probe", "", nil)
	if err == nil && p.writes != 1 {
		err = fmt.Errorf("%d writes to a file were seen, want 1", p.writes)
	}
	return err
}

func tryReturn() error {
	p, err := probe("printf abc > probe", "write path=probe nth=1 do kill mid 2", nil)
	if err == nil && p.text != "ab" {
		err = fmt.Errorf("a write of 3 bytes that was torn after 2 left %q", p.text)
	}
	return err
}

// trySignals showers a held call with signals: it must neither fail nor come
// twice.
func trySignals() error {
	p, err := probe("trap : USR1; printf a > probe", "write path=probe do hold until=go mark=held",
		func(dir string, run *shim.Run) error {
			if err := awaitFile(filepath.Join(dir, "held")); err != nil {
				return err
			}
			for range 50 {
				_ = run.Signal(syscall.SIGUSR1)
			}
			return os.WriteFile(filepath.Join(dir, "go"), nil, 0o666)
		})
	if err == nil && (p.text != "a" || p.writes != 1) {
		err = fmt.Errorf("a held write that got signals came %d times and left %q", p.writes, p.text)
	}
	return err
}

func awaitFile(path string) error {
	const limit, pause = 10 * time.Second, time.Millisecond
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(pause) {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s did not appear within %v", path, limit)
}

func tryAhead() error {
	if !shim.MayHurry() {
		return errors.New("not permitted to this user")
	}
	return nil
}

// probed is what a probe showed: how often the file "probe" was written to, and
// its text.
type probed struct {
	writes int
	text   string
}

// probe runs a shell script under a rule in an empty directory of its own.
func probe(script, text string, during func(dir string, run *shim.Run) error) (probed, error) {
	var p probed
	dir, err := os.MkdirTemp("", "faultfs-doctor-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return p, err
	}
	defer null.Close()
	var rules []rule.Rule
	if text != "" {
		r, err := rule.Parse(text)
		if err != nil {
			return p, err
		}
		rules = append(rules, r)
	}
	root, err := shim.ResolveTree(dir)
	if err != nil {
		return p, err
	}
	run, err := shim.Start(
		shim.Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: root, Env: os.Environ(), Stdin: null, Stdout: null, Stderr: null},
		shim.Config{Tree: root, Calls: op.Calls(op.SetOf(op.Write)), Decider: rule.NewMatcher(root, rules), Observer: &p})
	if err != nil {
		return p, err
	}
	if during != nil {
		if err := during(root, run); err != nil {
			run.Kill()
			_, _ = run.Wait(shim.Limits{Grace: time.Second})
			return p, err
		}
	}
	_, err = run.Wait(shim.Limits{Timeout: 20 * time.Second, Grace: time.Second})
	read, _ := os.ReadFile(filepath.Join(root, "probe"))
	p.text = string(read)
	return p, err
}

// Saw implements shim.Observer.
func (p *probed) Saw(o *op.Op, _ shim.Result) {
	if strings.HasSuffix(o.Path, "probe") {
		p.writes++
	}
}
