//go:build linux

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"faultlab/internal/report"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// experiment holds what sweep, place and the others have in common: their flags,
// the way from a command line to a report, and the exit status.
type experiment struct {
	spec trial.Spec
	only string
	// allowNone says that there may be nothing to try.
	allowNone bool
	outputs   outputs
	flags     *pflag.FlagSet
	name      string
	args      []string // the program and its arguments, as typed
	words     []string // arguments that were taken for files, though they could be mere words
}

// study is one experiment's own part.
type study interface {
	// Cases is the whole plan.
	Cases() []trial.Case
	// Judge gives a result to the log, and returns what to try on top of it.
	Judge(trial.Result) []trial.Case
}

// completer is a study whose choices are only known in full with the program.
type completer interface {
	Complete(trial.Case) trial.Case
}

// planner makes a study of what the controls showed. Its parse reads a choice.
type planner struct {
	plan func(*trial.Runner, *trial.Controls, *trial.Log) study
	// begin stands for plan where a study can fail to come about.
	begin func(context.Context, *trial.Runner, *trial.Controls, *trial.Log) (study, error)
	parse func(choice string) (trial.Case, error)
	// narrow gives the flags that explore around a choice; nil is --only.
	narrow func(choice string) ([]string, error)
	// state is the directory that holds what a choice has left, for --state, until
	// the copies are cleared away; nil where an experiment has no such thing.
	state func(choice string) (string, error)
	// check makes the oracle of the user's check, which may be ""; nil leaves it.
	check func(string) string
	// carry names flags of its own that a script takes over.
	carry []string
	// relative says that arguments which name files stay relative where the
	// program starts in the copy.
	relative bool
}

func newExperiment(cmd *cobra.Command) *experiment {
	e := &experiment{flags: cmd.Flags(), name: cmd.Name()}
	fl := e.flags
	fl.StringVar(&e.spec.Tree, "tree", "", "start from a copy of this directory; without it from an empty one")
	fl.StringVar(&e.spec.Setup, "setup", "", "shell command that prepares the copy, once")
	fl.StringVar(&e.spec.Next, "next", "", "shell command that is the next run; without it the program itself")
	fl.StringVar(&e.spec.Check, "check", "", "shell command that exits 0 where all is well after the next run; it finds FAULTFS_TREE, FAULTFS_STDOUT, FAULTFS_STDERR (files) and FAULTFS_STATUS in its environment")
	fl.StringArrayVar(&e.spec.Ignore, "ignore", nil, "glob of paths whose differences do not count; may be repeated")
	fl.StringArrayVar(&e.spec.Allow, "allow", nil, "a path outside the tree that may be changed; may be repeated")
	fl.DurationVar(&e.spec.Timeout, "timeout", 10*time.Second, "end a run after this long")
	fl.IntVar(&e.spec.Jobs, "jobs", runtime.NumCPU(), "experiments at once")
	fl.StringVar(&e.only, "only", "", "do only this choice, as a finding prints it: exit 1 while broken, 0 once fixed, 125 where its point is gone")
	e.outputs.add(fl)
	fl.SetInterspersed(false)
	return e
}

// run does the experiment and reports it.
func (e *experiment) run(std streams, args []string, p planner) error {
	if err := e.resolve(args, p.relative); err != nil {
		return err
	}
	var only []trial.Case
	if e.only != "" {
		c, err := p.parse(e.only)
		if err != nil {
			return usagef("--only %q: %w", e.only, err)
		}
		only = []trial.Case{c}
	}
	ctx, stop := interruptible()
	defer stop()
	r, err := e.perform(ctx, std, p, only)
	if r == nil {
		return err
	}
	// What was found is told, also where the copies could not be cleared away.
	err = errors.Join(err, e.outputs.write(std, r))
	return cmp.Or(err, e.status(r))
}

// perform makes the copies, the controls, the cases, and scripts of what they show:
// what those are made of goes with the copies.
func (e *experiment) perform(ctx context.Context, std streams, p planner, only []trial.Case) (r *report.Report, err error) {
	bar := newProgress(std, e.name)
	defer bar.end()
	spec := e.spec
	if p.check != nil {
		spec.Check = p.check(spec.Check)
	}
	runner, err := trial.New(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	if !p.relative && spec.Setup != "" {
		runner.SetArgs(e.settled(func(path string) bool { _, made := runner.Base()[path]; return made }))
	}
	controls, err := runner.Control(ctx, trial.Case{})
	if err != nil {
		return nil, interruption(ctx, err)
	}
	log := &trial.Log{Repro: e.repro, Progress: bar.set}
	s, err := p.study(ctx, runner, controls, log)
	if err != nil {
		return nil, interruption(ctx, err)
	}
	cases := only
	if cases == nil {
		cases = s.Cases()
	} else if c, ok := s.(completer); ok {
		cases[0] = c.Complete(cases[0])
	}
	if len(cases) == 0 {
		log.Nothing(idle(controls))
	}
	jobs := e.spec.Jobs
	if controls.Exclusive {
		jobs = 1
	}
	bar.set(0, len(cases))
	stopped := runner.All(ctx, jobs, log.Plan(cases), s.Judge)
	r = log.Report(e.name, e.line(), stopped)
	if e.outputs.repro != "" {
		err = e.scripts(e.outputs.repro, r, &p)
	}
	return r, err
}

func (p planner) study(ctx context.Context, r *trial.Runner, c *trial.Controls, log *trial.Log) (study, error) {
	if p.begin != nil {
		return p.begin(ctx, r, c, log)
	}
	return p.plan(r, c, log), nil
}

// status is how the command ends: a void never hides a finding.
func (e *experiment) status(r *report.Report) error {
	switch {
	case len(r.Findings) > 0 && r.Coverage.Why != "interrupted":
		return status(statusFindings)
	case e.allowNone && r.Coverage.Planned == 0:
	case !r.Coverage.Complete, r.Coverage.Ran == 0:
		return status(statusVoid)
	case e.only != "" && r.Coverage.Unreached > 0:
		return status(statusVoid)
	}
	return nil
}

func interruption(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted before the first experiment")
	}
	return err
}

// interruptible is a context that ends with the first signal that asks us to
// stop: what is done so far is reported then.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	shim.NotifyRelayed(signals)
	go func() {
		for ctx.Err() == nil {
			select {
			case sig := <-signals:
				if stops(sig) {
					cancel()
				}
			case <-ctx.Done():
			}
		}
	}()
	return ctx, cancel
}

// stops reports whether a signal asks us to end: one that continues us does not.
func stops(sig os.Signal) bool {
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// idle says why there is nothing to try.
func idle(c *trial.Controls) string {
	if len(c.Steps) == 0 {
		return "the program did nothing in the tree: it starts in a copy of what --tree and --setup give, and {tree} is the path of that"
	}
	return fmt.Sprintf("none of the %d operations of the program in the tree is among the kinds, paths and faults that were asked for", len(c.Steps))
}

// resolve finds the program and the files that its arguments name, as the user
// meant them in the directory where the command was typed.
func (e *experiment) resolve(args []string, relative bool) error {
	e.args = args
	if e.spec.Jobs < 1 {
		return usagef("--jobs %d: want 1 or more", e.spec.Jobs)
	}
	if e.spec.Timeout <= 0 {
		return usagef("--timeout %v: want more than 0, such as 10s", e.spec.Timeout)
	}
	for _, glob := range e.spec.Ignore {
		if !doublestar.ValidatePattern(glob) {
			return usagef("--ignore %q: not a glob", glob)
		}
	}
	for i, path := range e.spec.Allow {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		e.spec.Allow[i] = abs
	}
	if e.flags.Changed("tree") {
		if _, err := treeRoot(e.spec.Tree); err != nil {
			return err
		}
	}
	var err error
	if e.spec.Program, err = e.program(args); err != nil {
		return err
	}
	e.spec.Args = e.located(args, relative)
	return nil
}

// line is the command as it was typed, for a shell.
func (e *experiment) line() string { return e.typed("") }

// repro is the command that shows one choice again.
func (e *experiment) repro(choice string) string { return e.typed(choice) }

func (e *experiment) typed(only string) string {
	words := []string{"faultfs", e.name}
	e.flags.Visit(func(f *pflag.Flag) {
		if e.outputs.owns(f.Name) || f.Name == "only" || f.Name == "jobs" || f.Name == "keep" ||
			f.Name == "state" && only != "" || e.foreign(f.Name) {
			return
		}
		for _, value := range values(f) {
			words = append(words, flagWords(f, value)...)
		}
	})
	if only != "" {
		words = append(words, "--only", only)
	}
	words = append(words, "--")
	words = append(words, e.args...)
	for i, w := range words {
		words[i] = quoted(w)
	}
	return strings.Join(words, " ")
}

// foreign reports whether an audit's flag is none of this part's.
func (e *experiment) foreign(flag string) bool {
	owner, owned := map[string]string{"preemptions": "race", "starts": "place"}[flag]
	return owned && e.name != owner && e.name != "audit"
}

func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok && f.Value.Type() == "stringArray" {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

func flagWords(f *pflag.Flag, value string) []string {
	switch {
	case f.Value.Type() == "bool" && value == "true":
		return []string{"--" + f.Name}
	case f.Value.Type() == "stringSlice":
		return []string{"--" + f.Name, strings.Trim(value, "[]")}
	}
	return []string{"--" + f.Name, value}
}

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
