//go:build linux

// Package cli holds faultfs's commands.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"faultlab/internal/shim"
)

// The exit statuses, which never mix.
const (
	statusOK       = 0
	statusFindings = 1
	statusUsage    = 2
	statusVoid     = shim.VoidStatus
)

// streams are the standard ones.
type streams struct {
	in       *os.File
	out, err *os.File
}

// status is how a command ends that has said all it had to say.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError is a mistake in how faultfs was called.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs faultfs with the arguments that follow its name, and returns its
// exit status.
func Main(args []string, in, out, errOut *os.File) int {
	root := newRoot(streams{in, out, errOut})
	root.SetArgs(args)
	err := root.Execute()
	var s status
	if errors.As(err, &s) {
		return int(s)
	}
	if err == nil {
		return statusOK
	}
	return complain(errOut, err)
}

// complain prints one line and tells the status that goes with it.
func complain(w io.Writer, err error) int {
	if v := (*shim.Void)(nil); errors.As(err, &v) {
		for _, reason := range v.Reasons {
			fmt.Fprintf(w, "faultfs: void: %s\n", reason)
		}
		return statusVoid
	}
	var u usageError
	if errors.As(err, &u) || strings.HasPrefix(err.Error(), "unknown command") {
		fmt.Fprintf(w, "faultfs: %s\n", firstLine(err))
		return statusUsage
	}
	fmt.Fprintf(w, "faultfs: void: %s\n", firstLine(err))
	return statusVoid
}

// firstLine drops what cobra adds below an error.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "faultfs",
		Short: "Make a program's file system fail where you say",
		Long: `faultfs runs any Linux program, unmodified and as an ordinary user, and fails,
shortens, delays, holds or kills it at any file-system call.

Exit status: 0 nothing found, 1 findings, 2 usage, 125 void (the experiment did
not take place). "run" relays the program's own status.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		// Two letters apart is still a slip.
		SuggestionsMinimumDistance: 2,

		Args: wanted,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(std), newTrace(std), newSweep(std), newCrash(std), newPlace(std), newRace(std), newAudit(std), newDoctor(std))
	return root
}

// wanted takes no arguments: what stands there was meant for a command.
func wanted(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cure := "see " + root.CommandPath() + " --help for all"
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		cure = "did you mean " + strings.Join(near, " or ") + "?"
	} else if _, err := exec.LookPath(args[0]); err == nil {
		cure = "a program stands after a command and --, as in " + root.CommandPath() + " sweep -- " + quoted(args[0])
	}
	return usagef("unknown command %q: %s", args[0], cure)
}
