//go:build linux

package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"faultlab/internal/op"
	"faultlab/internal/sweep"
	"faultlab/internal/trial"
)

func newSweep(std streams) *cobra.Command {
	var ops, faults, paths []string
	var depth int
	cmd := &cobra.Command{
		Use:   "sweep [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Fail every operation of a program in every way, and judge what it leaves",
		Long: `Run a program again and again, each time in a fresh copy of a tree and with one
operation failing as it really can (a full disk, a bad one, a short write, a
denied open, a kill before, within or after it), then run it once more without a
fault, and say what that single failure has left behind: a torn file, a lock
that blocks the next run, a success that was none.

The program starts in the copy; {tree} in its arguments is the copy's path.
The original is never changed.`,
		Example: `  faultfs sweep --tree data --check './consistent.sh' -- worker run …
  faultfs sweep --setup 'git init -q . && echo a >a && git add a' -- git commit -qm x`,
		Args: func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
	}
	e := newExperiment(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&ops, "ops", nil, "kinds of operations to fail, such as write,sync (default: all that can)")
	fl.StringSliceVar(&faults, "faults", nil, "faults to try, such as ENOSPC,short,kill (default: all)")
	fl.StringArrayVar(&paths, "path", nil, "glob of paths whose operations fail; may be repeated (default: what the program changes)")
	fl.IntVar(&depth, "depth", 1, "faults in one run: 2 adds a second in what the program does after the first")
	fl.BoolVar(&e.allowNone, "allow-none", false, "exit 0 where nothing is left of what was asked for: scripts of --repro, where a fix may have taken it away")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		opts, err := sweepOptions(ops, faults, paths, depth)
		if err != nil {
			return err
		}
		return e.run(std, args, sweepPlanner(opts))
	}
	return cmd
}

func sweepPlanner(opts sweep.Options) planner {
	return planner{
		plan: func(r *trial.Runner, c *trial.Controls, log *trial.Log) study {
			if status := c.Run.Subject.Status(); status != 0 {
				log.Note("without any fault the program ends with status %d%s", status, trial.LastLine(c.Run.Subject.Text()))
			}
			return sweep.New(r, c, opts, log)
		},
		parse:    sweep.Parse,
		narrow:   narrowed,
		relative: true,
	}
}

// narrowed are the flags that explore around a choice.
func narrowed(choice string) ([]string, error) {
	a, err := sweep.Narrow(choice)
	if err != nil {
		return nil, err
	}
	words := []string{"--ops", strings.Join(a.Ops, ","), "--faults", strings.Join(a.Faults, ",")}
	for _, path := range a.Paths {
		words = append(words, "--path", path)
	}
	if a.Depth > 1 {
		words = append(words, "--depth", strconv.Itoa(a.Depth))
	}
	return append(words, "--allow-none"), nil
}

func sweepOptions(ops, faults, paths []string, depth int) (sweep.Options, error) {
	opts := sweep.Options{Ops: sweep.Kinds, Faults: faults, Paths: paths, Depth: depth}
	if depth != 1 && depth != 2 {
		return opts, usagef("--depth %d: want 1 or 2", depth)
	}
	if len(ops) > 0 {
		opts.Ops = 0
	}
	for _, name := range ops {
		kind, ok := op.ParseKind(name)
		switch {
		case name == "mutate":
			opts.Ops |= op.Mutate
		case ok:
			opts.Ops |= op.SetOf(kind)
		default:
			return opts, usagef("--ops %q: want kinds of %s, or mutate", name, op.All)
		}
	}
	for _, name := range faults {
		if known := sweep.Faults(); !slices.Contains(known, name) {
			return opts, usagef("--faults %q: want some of %s", name, strings.Join(known, ", "))
		}
	}
	for _, glob := range paths {
		if !doublestar.ValidatePattern(glob) {
			return opts, usagef("--path %q: not a glob", glob)
		}
	}
	return opts, nil
}
