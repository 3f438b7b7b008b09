//go:build linux

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"faultlab/internal/race"
	"faultlab/internal/report"
	"faultlab/internal/rule"
	"faultlab/internal/trial"
)

// between stands between the commands of several actors.
const between = ":::"

func newRace(std streams) *cobra.Command {
	opts := race.Options{}
	var on []string
	cmd := &cobra.Command{
		Use:   "race [flags] -- PROGRAM [ARGUMENT…] ::: PROGRAM [ARGUMENT…] [::: …]",
		Short: "Run programs against one tree in every order of their operations",
		Long: `Run unmodified programs on one copy of a tree, let exactly one of them do its next
operation at a time, and try every order of their operations up to a bound on
preemptions (switches away from a program that could have gone on).

Something is wrong where the check fails; where two are between their first and
their last change of the files that --critical names; where, without a check, the
tree is as after no order of the successful programs one after the other; where
all wait for each other; and where one hangs, leaves a process behind or writes
elsewhere.

With --crash-any one program is also killed, before each of its operations, and the
others go on in every order.

With --serve a server runs beside them. The programs start once it has printed a
line on standard output; SIGTERM ends it after the run, and after the check. Its own
operations go on by themselves, and a connect to its socket in {tree} or {tmp} is an
operation whose order matters.`,
		Example: `  faultfs race --tree data --critical 'data/**' -- worker run … ::: worker run …
  faultfs race -- sh counter.sh ::: sh counter.sh`,
		Args: func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
	}
	e := newExperiment(cmd)
	fl := cmd.Flags()
	fl.IntVar(&opts.Preemptions, "preemptions", 2, "switch away from a program that could go on at most so often in one run")
	fl.IntVar(&opts.MaxSchedules, "max-schedules", 0, "stop after so many runs, those by chance among them (0: never)")
	fl.DurationVar(&opts.MaxTime, "max-time", 0, "stop after this long (0: never)")
	fl.StringArrayVar(&opts.Paths, "path", nil, "glob: leave a program only before operations on such paths; may be repeated (default: what several of them use)")
	fl.StringVar(&opts.Critical, "critical", "", "glob: no two programs may be between their first and last change of such files at once")
	fl.IntVar(&opts.Samples, "samples", 0, "then play so many orders by chance, with any number of switches, as far as --max-schedules leaves any")
	fl.Uint64Var(&opts.Seed, "seed", 1, "which orders chance gives: the same seed gives the same")
	fl.BoolVar(&opts.KeepGoing, "keep-going", false, "do not stop at the first finding")
	fl.BoolVar(&opts.CrashAny, "crash-any", false, "also kill one program before any of its operations, at most one in a run")
	fl.BoolVar(&opts.Full, "full", false, "also run orders that differ in nothing from another")
	fl.StringArrayVar(&on, "on", nil, "a rule for some actor, such as 'write path=*.lock actor=A nth=1 do kill'; may be repeated")
	fl.StringVar(&e.spec.Serve, "serve", "", "shell command that serves the programs in each run; it is ready with its first line of output")
	_ = fl.MarkHidden("next")
	fl.Lookup("check").Usage = "shell command that exits 0 where all is well after a run; it finds FAULTFS_TREE in its environment, and with a line for each program FAULTFS_STATUS (a status, or killed), FAULTFS_STDOUT and FAULTFS_STDERR (paths of files)"
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if fl.Changed("next") {
			return usagef("--next: no program follows a race; say with --check what has to hold after it")
		}
		if err := raceOptions(&opts, on); err != nil {
			return err
		}
		if opts.Fill = fl.Changed("seed") && opts.Samples == 0; opts.Fill && opts.MaxSchedules == 0 {
			return usagef("--seed: say with --samples or --max-schedules how many orders chance may give")
		}
		return e.race(std, args, opts)
	}
	return cmd
}

func raceOptions(opts *race.Options, on []string) error {
	if opts.Preemptions < 0 || opts.MaxSchedules < 0 || opts.MaxTime < 0 || opts.Samples < 0 {
		return usagef("--preemptions, --max-schedules, --max-time and --samples: want 0 or more")
	}
	if opts.Critical != "" && !doublestar.ValidatePattern(opts.Critical) {
		return usagef("--critical %q: not a glob", opts.Critical)
	}
	for _, glob := range opts.Paths {
		if !doublestar.ValidatePattern(glob) {
			return usagef("--path %q: not a glob", glob)
		}
	}
	for _, text := range on {
		r, err := rule.Parse(text)
		if err != nil {
			return usageError{err}
		}
		opts.Rules = append(opts.Rules, r)
	}
	if err := rule.CheckSet(opts.Rules); err != nil {
		return usageError{err}
	}
	return nil
}

// race explores, or plays the one order that --only names.
func (e *experiment) race(std streams, args []string, opts race.Options) error {
	programs, err := e.actors(args)
	if err != nil {
		return err
	}
	if e.only != "" {
		if err := race.CheckChoice(e.only, len(programs)); err != nil {
			return usagef("--only %q: %w", e.only, err)
		}
	}
	opts.Jobs, opts.Ignores = e.spec.Jobs, len(e.spec.Ignore) > 0
	ctx, stop := interruptible()
	defer stop()
	r, err := e.explore(ctx, std, programs, opts)
	if err != nil {
		return err
	}
	err = e.outputs.write(std, r)
	if e.outputs.repro != "" {
		err = errors.Join(err, e.scripts(e.outputs.repro, r, nil))
	}
	return cmp.Or(err, e.status(r))
}

func (e *experiment) explore(ctx context.Context, std streams, programs []trial.Program, opts race.Options) (r *report.Report, err error) {
	bar := newProgress(std, e.name)
	defer bar.end()
	runner, err := trial.New(ctx, e.spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	x := race.New(runner, programs, opts)
	var findings []race.Finding
	if e.only != "" {
		findings, err = x.Replay(ctx, e.only)
	} else {
		findings, err = x.Explore(ctx)
	}
	if x.Stats().Schedules == 0 && err != nil {
		return nil, interruption(ctx, err)
	}
	return x.Report(e.line(), findings, e.repro, err), nil
}

// actors are the programs between the signs.
func (e *experiment) actors(args []string) ([]trial.Program, error) {
	var programs []trial.Program
	defer func() { e.args = args }()
	for rest := args; len(rest) > 0; {
		end := slices.Index(rest, between)
		if end < 0 {
			end = len(rest)
		}
		if end == 0 {
			return nil, usagef("an empty program: want PROGRAM [ARGUMENT…] %s PROGRAM [ARGUMENT…]", between)
		}
		if err := e.resolve(rest[:end], true); err != nil {
			return nil, err
		}
		programs = append(programs, trial.Program{Path: e.spec.Program, Args: e.spec.Args})
		if end == len(rest)-1 {
			return nil, usagef("an empty program behind the last %s", between)
		}
		rest = rest[min(end+1, len(rest)):]
	}
	if len(programs) < 2 {
		return nil, usagef("one program only: put %s and another one behind it", between)
	}
	if len(programs) > race.MaxActors {
		return nil, usagef("%d programs: want at most %d", len(programs), race.MaxActors)
	}
	return programs, nil
}
