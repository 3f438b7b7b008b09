//go:build linux

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"faultlab/internal/shim"
	"github.com/spf13/cobra"
)

// commandLine takes what follows "--".
func commandLine(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no program given: %s [flags] -- PROGRAM [ARGUMENT…]", cmd.CommandPath())
	}
	if at := cmd.ArgsLenAtDash(); at > 0 {
		return usagef("unexpected %q before --: the program and its arguments stand after it", args[0])
	}
	return nil
}

// subject is the program as the user's shell would find it, in the directory
// where it was typed.
func subject(std streams, args []string) (shim.Command, error) {
	path, err := exec.LookPath(args[0])
	if err != nil && !(path != "" && filepath.IsLocal(path)) {
		return shim.Command{}, usagef("start the program %q: %w: %s", args[0], cause(err), cure(args[0], err))
	}
	return shim.Command{
		Path: path, Args: args, Env: os.Environ(),
		Stdin: std.in, Stdout: std.out, Stderr: std.err,
		Terminal: shim.TerminalOf(std.in),
	}, nil
}

// cause unwraps what names the program once more.
func cause(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	if e := (*exec.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// cure says what to do about a program that cannot be started.
func cure(name string, err error) string {
	fi, missing := os.Stat(name)
	file := missing == nil && !fi.IsDir()
	switch {
	case errors.Is(err, exec.ErrNotFound) && file:
		return "say ./" + quoted(name) + " for the one in this directory"
	case errors.Is(err, exec.ErrNotFound):
		return "check the spelling, or say its path"
	case errors.Is(err, fs.ErrPermission) && file:
		return "make it executable: chmod +x " + quoted(name)
	case errors.Is(err, syscall.EISDIR):
		return "name a file in it"
	}
	return "name a program that is there, as seen from this directory"
}

// relay passes the signals that the supervisor gets on to its subject, and
// follows the job control of its terminal, if it has one. It must be made
// before the subject is started: what comes meanwhile waits in it.
type relay struct {
	signals chan os.Signal
	tty     *shim.Terminal
}

func newRelay(tty *shim.Terminal) *relay {
	r := &relay{make(chan os.Signal, 16), tty}
	shim.NotifyRelayed(r.signals)
	if tty != nil {
		signal.Notify(r.signals, syscall.SIGCHLD)
	}
	return r
}

// to passes on until the relay is stopped.
func (r *relay) to(run *shim.Run) {
	for sig := range r.signals {
		switch {
		case sig == syscall.SIGCHLD:
			r.tty.Suspend(run)
		case sig == syscall.SIGCONT && r.tty != nil:
			r.tty.Resume(run)
		default:
			_ = run.Signal(sig.(syscall.Signal))
		}
	}
}

func (r *relay) stop() {
	signal.Stop(r.signals)
	close(r.signals)
	if r.tty != nil {
		r.tty.Back()
	}
}

// supervise runs cmd to its end.
func supervise(std streams, cmd shim.Command, cfg shim.Config, lim shim.Limits) (shim.Exit, error) {
	relay := newRelay(cmd.Terminal)
	defer relay.stop()
	run, err := shim.Start(cmd, cfg)
	if err != nil {
		return shim.Exit{}, err
	}
	go relay.to(run)
	exit, err := run.Wait(lim)
	reportExit(std, exit)
	return exit, err
}

// reportExit says on standard error what the exit status cannot.
func reportExit(std streams, exit shim.Exit) {
	for _, note := range exit.Notes {
		fmt.Fprintln(std.err, "faultfs: note:", note)
	}
	for _, orphan := range exit.Orphans {
		fmt.Fprintf(std.err, "faultfs: note: process %s outlived the program and was ended\n", orphan)
	}
}

func limitFlags(cmd *cobra.Command, lim *shim.Limits) {
	cmd.Flags().DurationVar(&lim.Timeout, "timeout", 10*time.Minute, "end the program and call the run void after this long; 0: never")
	cmd.Flags().DurationVar(&lim.Grace, "grace", time.Second, "how long processes may outlive the program before they are ended")
}

func checkLimits(lim shim.Limits) error {
	if lim.Timeout < 0 || lim.Grace < 0 {
		return usagef("a duration below zero: want --timeout and --grace of 0 or more, such as 10s")
	}
	return nil
}
