// Package worker is the reference program of the lab: a small evaluation harness, real enough to be worth attacking.
//
// `worker run` replays a dataset against a candidate, and if it passes the gate promotes it: a record is appended to
// results.jsonl and champion.json is replaced. It changes the data directory only between taking and releasing run.lock.
//
// On standard output it says, each line in one write call of its own:
//
//	locked TOKEN          the lock is taken and its release registered; nothing else was changed
//	granted TOKEN         only with --coordinator: the lease is taken
//	ready                 only with --end wait
//	stored KEY TOKEN      only with --coordinator: the score is in the store
//	released              the lock is given back (also by an exit hook)
//	promoted NAME SCORE   the run has succeeded
package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/spf13/cobra"

	"faultlab/exit"
	"faultlab/fence"
	"faultlab/internal/mutant"
	"faultlab/lock"
)

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1 // something went wrong; the message says what was left
	statusUsage  = 2 // called wrongly, or bad input: nothing was touched
	statusHeld   = 3 // refused by a lock
	statusGate   = 4 // the candidate is not good enough: nothing was changed
	statusStale  = 5 // the lease was given on while the run slept: nothing was changed
)

const statusHelp = `Exit status:
  0  done
  1  failed; the message says what to do, and what is left if anything is
  2  wrong usage or bad input; nothing was touched
  3  refused by a lock: the message names the holder and the command that clears the lock; or by a lease
  4  the candidate did not pass the gate; nothing was changed
  5  the lease was given on during the run, and the store holds a later score; nothing was changed, run again`

// Main is the main of cmd/worker. It does not return.
func Main() {
	exit.Main(func() int { return command(os.Args[1:], os.Stdout, os.Stderr) })
}

func command(args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "worker",
		Short: "Score candidates on a dataset and keep the champion, one writer at a time",
		Long: "Score candidates on a dataset and keep the champion, one writer at a time.\n\n" +
			"The data directory is locked by DIR/run.lock while it is changed.\n\n" + statusHelp,
		Args:               cobra.NoArgs,
		RunE:               func(c *cobra.Command, _ []string) error { return usagef("say what to do: %s", "run, status or unlock") },
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(runCommand(stdout, stderr), statusCommand(stdout), unlockCommand(stdout))
	ran, err := root.ExecuteC()
	if err == nil {
		return statusOK
	}
	complain(stderr, err)
	return statusOf(err, ran)
}

// statusOf maps an error to the exit status. What cobra itself refuses never reached RunE and is usage.
func statusOf(err error, ran *cobra.Command) int {
	var usage usageError
	var held *lock.HeldError
	var changed *lock.ChangedError
	var gate gateError
	var leased *fence.HeldError
	var stale *fence.StaleError
	switch {
	case errors.As(err, &usage), !started(ran):
		return statusUsage
	case errors.As(err, &held), errors.As(err, &changed), errors.As(err, &leased), errors.Is(err, errLocked):
		return statusHeld
	case errors.As(err, &gate):
		return statusGate
	case errors.As(err, &stale):
		return statusStale
	}
	return statusFailed
}

const startedKey = "started"

func started(c *cobra.Command) bool { return c.Annotations[startedKey] != "" }

// begin wraps a command's body so that its errors can be told from those of cobra's parsing.
func begin(body func() error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		c.Annotations = map[string]string{startedKey: "yes"}
		return body()
	}
}

// complain writes one line for each cause. An exit that has begun has its own words, and status has said it already.
func complain(w io.Writer, err error) {
	if many, ok := err.(*multierror.Error); ok {
		for _, one := range many.Errors {
			complain(w, one)
		}
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			complain(w, one)
		}
		return
	}
	if !errors.Is(err, exit.ErrExiting) && !errors.Is(err, errLocked) {
		fmt.Fprintf(w, "worker: %v\n", err)
	}
}

func runCommand(stdout, stderr io.Writer) *cobra.Command {
	r := &run{stdout: stdout, stderr: stderr}
	c := &cobra.Command{
		Use:   "run --candidate FILE --dataset FILE --data DIR",
		Short: "Score a candidate and promote it if it passes the gate",
		Long: `Score a candidate by a deterministic replay of a dataset, and promote it if it reaches the floor (0.700) and beats the
champion: append a record to DIR/results.jsonl and replace DIR/champion.json. DIR must exist. It is changed only while
DIR/run.lock is held.

A run that was killed leaves its lock. The next one is refused and prints the command that clears it; the run after that
takes back whatever was half-done.

With --coordinator and --store the score also goes into a store that runs of other data directories write to, too. It is
put under a lease, before the data directory is changed: a run that slept while its lease was given on is refused there.

With --heldout the candidate must reach the floor on those cases as well. They must lie outside the repository that this
program lies in, wherever it is started.

` + endHelp() + "\n\n" + mutantHelp() + "\n\n" + statusHelp,
		Example: `  mkdir data
  worker run --candidate testdata/eval/candidate.json --dataset testdata/eval/dataset.jsonl --data data`,
		Args: cobra.NoArgs,
		RunE: begin(r.main),
	}
	f := c.Flags()
	f.StringVar(&r.candidateFile, "candidate", "", "the policy to score, a JSON `FILE`")
	f.StringVar(&r.datasetFile, "dataset", "", "the cases to replay, a JSON-lines `FILE`")
	f.StringVar(&r.data, "data", "", "the data directory `DIR`")
	f.StringVar(&r.notify, "notify", "", "tell a Unix `SOCKET` of the promotion; it is dialled while locked, before anything is changed")
	f.StringVar(&r.heldoutFile, "heldout", "", "more cases, a JSON-lines `FILE` outside the repository, on which the candidate must reach the floor")
	f.StringVar(&r.fenced.socket, "coordinator", "", "ask the coordinator on this Unix `SOCKET` for a lease; needs --store")
	f.StringVar(&r.fenced.path, "store", "", "put the score into this fenced store, a `FILE`, made if it is missing; needs --coordinator")
	f.StringVar(&r.fenced.lease, "lease", "data", "the `NAME` of the lease")
	f.StringVar(&r.fenced.key, "key", defaultKey, "the `KEY` of the score in the store")
	f.DurationVar(&r.fenced.ttl, "ttl", 10*time.Second, "how long the lease lasts, a `DURATION`")
	f.StringVar(&r.lockName, "lock", "create", "how to lock, a `DESIGN`: create (a file that is there or not) or flock (held by the kernel)")
	f.StringVar(&r.mutantName, "mutant", "", "for the lab: do it by the broken design `NAME`")
	f.StringVar(&r.endName, "end", "return", "for the lab: how the process ends once it holds the lock, a `MODE`")
	required(c, "candidate", "dataset", "data")
	return c
}

const defaultKey = "champion"

func mutantHelp() string {
	lines := []string{"Broken designs (--mutant), which the lab must catch:"}
	for _, d := range mutant.All {
		lines = append(lines, fmt.Sprintf("  %-18s %s", d.Name, d.About))
	}
	return strings.Join(lines, "\n")
}
