//go:build linux

package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"faultlab/internal/crash"
	"faultlab/internal/rule"
	"faultlab/internal/trial"
)

func newCrash(std streams) *cobra.Command {
	var fs, tear, acked string
	var rules []string
	var s crash.Settings
	cmd := &cobra.Command{
		Use:   "crash [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Let a program die, and the power go, at every point, and judge what is left",
		Long: `Record one run of a program, operation by operation, and rebuild from the record
every state that the tree could be left in: by a program that dies (all that it
did is there), and by a machine that dies (what was not synced may be lost, in
part or out of order). In each state run recovery (--next; without it the
program again) and the check, and say which of them it does not survive.

In the check FAULTFS_STDOUT holds exactly what the program had printed before the
crash: what it had acknowledged must be there. Where it says so in lines such as
"ack KEY", --acked asks for that by itself. A check that fails with a last line
such as "lost: KEY" gives the verdict lost.`,
		Example: `  faultfs crash --setup 'store init db' --next 'store recover db' --check './all_acknowledged.sh' -- store put db …
  faultfs crash --fs ext4 --tree data -- worker run …`,
		Args: func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
	}
	e := newExperiment(cmd)
	fl := cmd.Flags()
	fl.StringVar(&fs, "fs", "strict", "what the disk promises: strict (what was synced, no more), linux, ext4")
	fl.IntVar(&s.Depth, "depth", 1, "operations that are lost, each by itself, beyond what is lost together: 1 or 2")
	fl.StringVar(&tear, "tear", "page", "where a write can end when the program dies: page or byte")
	fl.StringVar(&s.Keep, "keep", "", "leave the failing states in this directory, for looking at")
	fl.StringVar(&acked, "acked", "", "shell command that lists what is there after the next run, a key a line: each 'ack KEY' that the program had printed must be among it, no 'refused KEY', and nothing twice")
	fl.StringVar(&s.State, "state", "", "begin with the state in this directory, as --keep and --repro leave one: only where it is not survived, try what a crash leaves")
	fl.BoolVar(&s.FailSync, "fail-sync", false, "record once more for each sync, which fails and loses its data")
	fl.BoolVar(&s.Again, "again", false, "record the recovery from each state, and crash that, too")
	fl.StringArrayVar(&rules, "on", nil, "a rule that holds while the program is recorded, such as 'sync path=a nth=1 do fail EIO'; may be repeated")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := crashSettings(&s, fs, tear, rules); err != nil {
			return err
		}
		if s.State != "" && e.only != "" {
			return usagef("--only and --state each say what alone is tried: give one of them")
		}
		s.Acked = acked != ""
		s.Witnesses = e.outputs.repro != ""
		p := crashPlanner(s)
		if s.Acked {
			p.check = func(check string) string { return crash.AckedCheck(check, acked) }
		}
		return e.run(std, args, p)
	}
	return cmd
}

func crashPlanner(s crash.Settings) planner {
	var made *crash.Crash
	return planner{
		begin: func(ctx context.Context, r *trial.Runner, c *trial.Controls, log *trial.Log) (_ study, err error) {
			made, err = crash.New(ctx, r, c, s, log)
			return made, err
		},
		parse:    crash.Parse,
		state:    func(choice string) (string, error) { return made.Witness(choice) },
		relative: true,
		carry:    []string{"fs", "tear", "fail-sync", "again", "on", "acked", "depth"},
	}
}

func crashSettings(s *crash.Settings, fs, tear string, rules []string) error {
	var err error
	if s.Model, err = crash.ParseModel(fs); err != nil {
		return usagef("--fs: %w", err)
	}
	if s.Depth != 1 && s.Depth != 2 {
		return usagef("--depth %d: want 1 or 2", s.Depth)
	}
	switch tear {
	case "page":
	case "byte":
		s.Bytes = true
	default:
		return usagef("--tear %q: want page or byte", tear)
	}
	if s.State != "" {
		if s.State, err = filepath.Abs(s.State); err != nil {
			return err
		}
		if fi, err := os.Stat(filepath.Join(s.State, crash.KeptTree)); err != nil || !fi.IsDir() {
			return usagef("--state %s: want a directory as --keep leaves one: it holds no directory %s", s.State, crash.KeptTree)
		}
	}
	if err := unused(s.Keep); err != nil {
		return err
	}
	for _, text := range rules {
		r, err := rule.Parse(text)
		if err != nil {
			return usagef("--on %q: %w", text, err)
		}
		if r.Verb != rule.DoFail {
			return usagef("--on %q: while a program is recorded a rule can only fail its operations", text)
		}
		s.Rules = append(s.Rules, r)
	}
	return nil
}

// unused asks that --keep mixes no states of two runs: one that is built over
// another is neither.
func unused(keep string) error {
	if kept, _ := filepath.Glob(filepath.Join(keep, "[0-9][0-9][0-9]")); keep != "" && len(kept) > 0 {
		return usagef("--keep %s: it holds %s of an earlier run: name another directory, or remove it", keep, filepath.Base(kept[0]))
	}
	return nil
}
