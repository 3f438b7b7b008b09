package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultlab/fence"
)

// Exit codes, see the help.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

const long = `coordinator grants leases: the right to write under a name until a time.
Every lease has a token, greater than any before it. Writes carry the token, and
a store refuses a token smaller than one it has seen, so a worker that slept
through the end of its lease cannot overwrite what its successor wrote.

    coordinator serve --socket run/c.sock --state run/leases.db &
    TOKEN=$(coordinator grant data --holder w1 --ttl 10s --socket run/c.sock)
    coordinator leases --socket run/c.sock
    coordinator release data "$TOKEN" --socket run/c.sock

It speaks HTTP with JSON, so curl will do:

    curl --unix-socket run/c.sock http://c/v1/grant \
         -d '{"name":"data","holder":"w1","ttl":"10s","wait":"5s"}'

    POST /v1/grant    name, holder, ttl, and wait if it may    -> the lease
    POST /v1/renew    name, token, ttl                         -> the lease
    POST /v1/release  name, token                              -> {}
    POST /v1/advance  by                                       -> now
    GET  /v1/leases                                            -> grantor, now, leases

Exit codes: 0 done, 1 failed, 2 usage, 3 refused (held by somebody else, a lease
that is over, a token of another coordinator, a clock moved backwards, a socket
or a file in use).`

type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// Main runs the program and returns its exit code. Every error is one line on
// stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	root := newRoot(args)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "coordinator: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	return exitCode(err)
}

func exitCode(err error) int {
	var (
		usage   *usageError
		invalid *fence.InvalidError
		refused *fence.RefusedError
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &invalid):
		return exitUsage
	case errors.As(err, &refused) && refused.Code == "invalid":
		return exitUsage
	case errors.As(err, &refused) && refused.Code != "busy", isRefusal(err):
		return exitRefused
	}
	return exitFailed
}

func isRefusal(err error) bool {
	var (
		held      *fence.HeldError
		lost      *fence.LostError
		backwards *fence.BackwardsError
		locked    *fence.LockedError
		inUse     *inUseError
	)
	return errors.As(err, &held) || errors.As(err, &lost) || errors.As(err, &backwards) ||
		errors.As(err, &locked) || errors.As(err, &inUse)
}

func newRoot(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:           "coordinator",
		Short:         "Grant leases with fencing tokens on a Unix socket",
		Long:          long,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Sprintf("no command %q: see coordinator --help", args[0])}
			}
			return &usageError{"a command is missing: see coordinator --help"}
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if d := negative(args); cmd.Name() == "advance" && d < 0 {
			return &fence.BackwardsError{By: d} // "-5s" reads as a flag
		}
		return &usageError{fmt.Sprintf("%v: see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(serveCommand(), grantCommand(), renewCommand(), releaseCommand(),
		advanceCommand(), leasesCommand(), marksCommand())
	return root
}

func negative(args []string) time.Duration {
	for _, a := range args {
		if d, err := time.ParseDuration(a); err == nil && d < 0 {
			return d
		}
	}
	return 0
}

// exactly checks the arguments and names the one that is missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return &usageError{fmt.Sprintf("%s takes %d arguments and got %d: %s", cmd.Name(), len(names), len(args), strings.TrimSpace(cmd.UseLine()))}
	}
}

func serveCommand() *cobra.Command {
	var socket, state, clock string
	cmd := &cobra.Command{
		Use:   "serve --socket PATH --state FILE",
		Short: "Serve until SIGINT, SIGTERM or SIGHUP",
		Long: `Serve until SIGINT, SIGTERM or SIGHUP. When it can be asked it prints one line
that begins with "ready".

Leases survive a restart, and tokens go on from where they were. With the real
clock a lease keeps its end within one boot of the machine; after a reboot each
gets its full time again. A virtual clock stands still between two "coordinator
advance"; it is kept in the state. A state begun with one clock stays with it.

Beside the socket lies PATH.lock, which says who may replace the socket; do not
remove it while a coordinator runs. A clean end removes both, and after a kill
the next coordinator takes them over.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := needed("socket", socket, "state", state); err != nil {
				return err
			}
			return serve(cmd.Context(), socket, state, clock, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&socket, "socket", "", "serve on this Unix socket (`PATH` of at most 107 bytes)")
	cmd.Flags().StringVar(&state, "state", "", "keep the leases and the counter in this `FILE`, made if it is missing")
	cmd.Flags().StringVar(&clock, "clock", "real", "real or virtual")
	return cmd
}

// needed checks flags that have no default: name, value, name, value …
func needed(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return &usageError{"--" + pairs[i] + " is missing"}
		}
	}
	return nil
}
