//go:build linux

package cli

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
)

type runFlags struct {
	on           []string
	file         string
	tree         string
	expect       string
	trace        string
	limits       shim.Limits
	dryRun       bool
	allowUnfired bool
	clock        time.Duration
}

func newRun(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGUMENT…]",
		Short: "Run a program once, with the faults that the rules say",
		Long: `Run a program in place, on the tree given, and do to its file-system calls what
the rules say. Without --expect the program's own status is relayed, as a shell
would show it (128+n for a signal); a rule that never fired voids the run (125).

A rule is an operation (a kind, mutate, or a system call), keys that narrow it,
"do", and an action:
  path=GLOB nth=N|N..|N..M proc=GLOB actor=A budget=BYTES mode=r|w|rw lock=ex|sh
  fail ERRNO [stay] | short K [fail ERRNO [stay]] | kill [process] [after | mid K]
  signal SIG | delay D | hold until=FILE [mark=FILE]`,
		Example: `  faultfs run --on 'write path=run.lock nth=1 do fail ENOSPC' -- worker run …
  faultfs run --on 'rename path=state.json do kill' --expect killed -- ./tool save`,
		Args: func(cmd *cobra.Command, args []string) error { return commandLine(cmd, args) },
		RunE: func(_ *cobra.Command, args []string) error { return f.run(std, args) },
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.on, "on", nil, "a rule, such as 'write path=*.lock nth=1 do fail ENOSPC'; may be repeated")
	fl.StringVar(&f.file, "rules", "", "a file of rules, one a line")
	fl.StringVar(&f.tree, "tree", ".", "the directory whose operations count")
	fl.StringVar(&f.expect, "expect", "", "ok, fail, killed or an exit status: exit 0 if so, 1 if not, 125 if void")
	fl.StringVar(&f.trace, "trace", "", "write every operation on the tree to this file, one JSON object a line")
	fl.DurationVar(&f.clock, "clock", 0, "shift the program's wall clock, such as +2h or -30m; monotonic clocks and the times of files stay real")
	limitFlags(cmd, &f.limits)
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the rules in canonical form and the calls to be trapped; run nothing")
	fl.BoolVar(&f.allowUnfired, "allow-unfired", false, "a rule that never fires does not void the run")
	fl.SetInterspersed(false)
	return cmd
}

func (f *runFlags) run(std streams, args []string) error {
	rules, err := f.rules()
	if err != nil {
		return err
	}
	if err := checkLimits(f.limits); err != nil {
		return err
	}
	expect, err := parseExpectation(f.expect)
	if err != nil {
		return err
	}
	cmd, err := subject(std, args)
	if err != nil {
		return err
	}
	calls := trapped(rules)
	if f.trace != "" {
		calls = op.Calls(op.All)
	}
	if f.dryRun {
		if f.clock != 0 {
			calls = append(calls, shim.ClockCalls()...)
		}
		return dryRun(std, rules, calls)
	}
	root, err := treeRoot(f.tree)
	if err != nil {
		return err
	}
	matcher := rule.NewMatcher(root, rules)
	counted := &counting{Matcher: matcher}
	cfg := shim.Config{
		Tree: root, Actor: 'A', Calls: calls, Decider: counted,
		Outside: outside(rules), Names: rule.Named(rules), Clock: f.clock,
	}
	finish := func() error { return nil }
	if f.trace != "" {
		t, err := newTracer(f.trace)
		if err != nil {
			return err
		}
		finish = t.finish
		cfg.Observer, cfg.Names = t, true
	}
	exit, err := supervise(std, cmd, cfg, f.limits)
	if err := errors.Join(err, finish()); err != nil {
		return err
	}
	if !f.allowUnfired {
		if err := unfired(matcher, counted.points.Last()); err != nil {
			return err
		}
	}
	return expect.judge(std, exit)
}

func (f *runFlags) rules() ([]rule.Rule, error) {
	var rules []rule.Rule
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, usagef("read the rules: %w", err)
		}
		if rules, err = rule.ParseFile(f.file, string(text)); err != nil {
			return nil, usageError{err}
		}
	}
	for _, text := range f.on {
		r, err := rule.Parse(text)
		if err != nil {
			return nil, usageError{err}
		}
		rules = append(rules, r)
	}
	if err := rule.CheckSet(rules); err != nil {
		return nil, usageError{err}
	}
	return rules, nil
}

func treeRoot(dir string) (string, error) {
	if dir == "" {
		return "", usagef("--tree is empty: name a directory")
	}
	root, err := shim.ResolveTree(dir)
	if err != nil {
		return "", usagef("%w: name a directory that is there", err)
	}
	return root, nil
}

// trapped is every call that some rule needs to see.
func trapped(rules []rule.Rule) []string {
	set := make(map[string]bool)
	for _, r := range rules {
		for _, c := range r.Calls() {
			set[c] = true
		}
	}
	calls := make([]string, 0, len(set))
	for c := range set {
		calls = append(calls, c)
	}
	sort.Strings(calls)
	return calls
}

// outside reports whether a rule reaches beyond the tree.
func outside(rules []rule.Rule) bool {
	for _, r := range rules {
		if strings.HasPrefix(r.Path, "/") {
			return true
		}
	}
	return false
}

func dryRun(std streams, rules []rule.Rule, calls []string) error {
	for _, r := range rules {
		fmt.Fprintln(std.out, r)
	}
	fmt.Fprintln(std.out, "# traps:", strings.Join(calls, " "))
	return nil
}

// counting is a matcher that remembers what was near.
type counting struct {
	*rule.Matcher
	points op.Counter
}

func (c *counting) Decide(o *op.Op) (rule.Action, *rule.Rule) {
	c.points.Point(o)
	return c.Matcher.Decide(o)
}

// unfired turns rules that never fired into a void.
func unfired(m *rule.Matcher, seen []op.Point) error {
	var reasons []string
	for _, r := range m.Unfired() {
		reasons = append(reasons, fmt.Sprintf("rule %q never fired; %s", r.String(), nearest(r, seen)))
	}
	if len(reasons) == 0 {
		return nil
	}
	return &shim.Void{Reasons: reasons}
}

func nearest(r rule.Rule, seen []op.Point) string {
	near := rule.Nearest(r, seen)
	if len(near) == 0 {
		return "no operation that it could apply to was seen (is --tree right?)"
	}
	var b strings.Builder
	b.WriteString("nearest operations seen: ")
	for i, p := range near {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.String())
	}
	return b.String()
}
