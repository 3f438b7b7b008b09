//go:build linux

package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"faultlab/internal/crash"
	"faultlab/internal/race"
	"faultlab/internal/report"
	"faultlab/internal/shim"
	"faultlab/internal/sweep"
)

func newAudit(std streams) *cobra.Command {
	var preemptions int
	var starts []string
	cmd := &cobra.Command{
		Use:   "audit [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Sweep, place, crash and race a program, and put it all on one page",
		Long: `Ask every question about one program: what if any operation fails, if it starts
somewhere else, if it dies or the power goes, and if a second copy of it runs in
between. The page names each invariant, how many experiments stand behind it, and
the findings, worst first, each with the command that shows it again.`,
		Example: `  faultfs audit --tree data --html audit.html -- worker run --data {tree} …`,
		Args:    func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
	}
	e := newExperiment(cmd)
	_ = cmd.Flags().MarkHidden("only")
	_ = cmd.Flags().MarkHidden("repro")
	cmd.Flags().IntVar(&preemptions, "preemptions", 1, "in the race, switch away from a program that could go on at most so often in one run")
	startsFlag(cmd, &starts)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if e.only != "" || e.outputs.repro != "" {
			return usagef("--only and --repro belong to one experiment: say sweep, place, crash or race")
		}
		if preemptions < 0 {
			return usagef("--preemptions %d: want 0 or more", preemptions)
		}
		if err := checkStarts(starts); err != nil {
			return err
		}
		return e.audit(std, args, starts, race.Options{Preemptions: preemptions, Jobs: e.spec.Jobs})
	}
	return cmd
}

// part is one experiment of an audit.
type part struct {
	name string
	run  func(ctx context.Context, e *experiment) (*report.Report, error)
}

// parts are the experiments of an audit of a program, in the order of the page.
func (e *experiment) parts(std streams, args, starts []string, opts race.Options) []part {
	planned := func(p planner) func(context.Context, *experiment) (*report.Report, error) {
		return func(ctx context.Context, e *experiment) (*report.Report, error) {
			if err := e.resolve(args, p.relative); err != nil {
				return nil, err
			}
			return e.perform(ctx, std, p, nil)
		}
	}
	return []part{
		{"sweep", planned(sweepPlanner(sweep.Options{Ops: sweep.Kinds, Depth: 1}))},
		{"place", planned(e.placePlanner(args[0], starts))},
		{"crash", planned(crashPlanner(crash.Settings{Options: crash.Options{Model: crash.Strict}}))},
		{"race", func(ctx context.Context, e *experiment) (*report.Report, error) {
			programs, err := e.actors(slices.Concat(args, []string{between}, args))
			if err != nil {
				return nil, err
			}
			return e.explore(ctx, std, programs, opts)
		}},
	}
}

// audit does every experiment. One that cannot be done is on the page, too.
func (e *experiment) audit(std streams, args, starts []string, opts race.Options) error {
	if err := e.resolve(args, true); err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()
	command := e.line()
	var parts []report.Report
	for _, p := range e.parts(std, args, starts, opts) {
		one := *e
		one.name = p.name
		r, err := p.run(ctx, &one)
		if r == nil {
			r = &report.Report{Version: report.SchemaVersion, Experiment: p.name, Command: one.line(),
				Summary: map[string]int{}, Findings: []report.Finding{}, Coverage: report.Coverage{Why: firstLine(err)}}
		}
		parts = append(parts, *r)
		if ctx.Err() != nil {
			break
		}
	}
	page := report.Audit(command, parts)
	if err := e.outputs.write(std, &page); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return &shim.Void{Reasons: []string{"interrupted: what is above is what was done so far"}}
	case len(page.Findings) > 0:
		return status(statusFindings)
	case !page.Answered():
		return status(statusVoid)
	}
	return nil
}
