//go:build linux

package trial

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/scratch"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
)

// Program is what an actor runs.
type Program struct {
	Path string   // absolute
	Args []string // its own name first; "{tree}" stands for the copy, "{tmp}" for the folder of its temporary files
}

// Stage is a copy on which several actors run against each other.
type Stage struct {
	runner *Runner
	at     *scratch.Copy
	names  []string // of the actors' output files
}

// OnStage lends a clean copy.
func (r *Runner) OnStage(ctx context.Context, play func(*Stage) error) (err error) {
	at, giveBack, err := r.borrow(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if back := giveBack(); err == nil {
			err = back
		}
	}()
	return play(&Stage{runner: r, at: at})
}

// Actor is a program on a stage.
type Actor struct{ *running }

// Quiet is the run's, and false while what was printed is still to be read: who
// waits in a write to a full pipe waits for us.
func (a *Actor) Quiet(held map[int]bool) bool {
	return a.read() && a.Run.Quiet(held) && a.read()
}

// read reports whether all that was printed so far has been read.
func (p *running) read() bool { return p.stdout.empty() && p.stderr.empty() }

// stageCalls are those that an actor's order can depend on, and those that show
// what it changes.
var stageCalls = sync.OnceValue(func() []string {
	return op.Calls(op.All &^ op.SetOf(op.Close, op.Sync, op.Chdir))
})

// Start brings a program onto the stage. Its operations are offered to the gate,
// which may be nil, and then to the rules.
func (s *Stage) Start(ctx context.Context, actor byte, p Program, gate shim.Gate, rules []rule.Rule) (*Actor, error) {
	watch := s.runner.sentry(Case{Rules: rules}, s.at)
	sub := s.runner.subject(Case{Rules: rules, Watch: stageCalls()}, s.at, watch, "actor."+string(actor))
	sub.command = command{p.Path, s.fill(p.Args)}
	run, err := s.begin(ctx, sub, actor, gate)
	if err != nil {
		return nil, err
	}
	s.names = append(s.names, sub.name)
	return &Actor{run}, nil
}

// begin starts one of several programs, by whose mark its processes are known.
func (s *Stage) begin(ctx context.Context, sub *subject, actor byte, gate shim.Gate) (*running, error) {
	sub.actor, sub.gate = actor, gate
	sub.env = []string{"FAULTFS_ACTOR=" + string(actor) + "@" + filepath.Base(filepath.Dir(s.at.Tree()))}
	return s.runner.start(ctx, sub)
}

// fill puts the stage's folders into texts.
func (s *Stage) fill(texts []string) []string {
	names := strings.NewReplacer("{tree}", s.at.Tree(), "{tmp}", s.at.Tmp())
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = names.Replace(text)
	}
	return out
}

// Wait waits for the actor's end. The error says that the run shows nothing.
func (a *Actor) Wait(ctx context.Context) (Outcome, error) { return a.wait(ctx) }

// Unfired lists the rules that have not fired for the actor.
func (a *Actor) Unfired() []rule.Rule {
	if m := a.subject.sentry.rules; m != nil {
		return m.Unfired()
	}
	return nil
}

// Steps are the operations of an actor that has ended, by the names on disk.
func (a *Actor) Steps() []Step { return a.subject.sentry.steps }

// Tree is what the stage holds other than the base, by the names that the
// pattern gives.
func (s *Stage) Tree(p *Pattern) (tree.Delta, error) {
	d, err := s.at.Delta()
	if err != nil {
		return nil, err
	}
	return p.Tree(d.Without(s.runner.ignored)), nil
}

// Tmp is the temporary folder of all its actors.
func (s *Stage) Tmp() string { return s.at.Tmp() }

// Checked reports whether there is an oracle of the user's.
func (s *Stage) Checked() bool { return s.runner.spec.Check != "" }

// Serves reports whether a server runs beside the actors.
func (r *Runner) Serves() bool { return r.spec.Serve != "" }

// Allowed lists what may be changed outside the tree.
func (r *Runner) Allowed() []string { return r.allowed }

// Timeout is how long a run may last.
func (r *Runner) Timeout() time.Duration { return r.spec.Timeout }

// Check runs the user's oracle: FAULTFS_STATUS holds one status a line, by
// actor, and the output files' names are those of all, a line each.
func (s *Stage) Check(ctx context.Context, statuses []string) (Outcome, error) {
	if s.runner.spec.Check == "" {
		return Outcome{}, nil
	}
	var stdout, stderr []string
	for _, name := range slices.Sorted(slices.Values(s.names)) { // by actor, whoever came first
		stdout = append(stdout, filepath.Join(s.at.Out(), name+".stdout"))
		stderr = append(stderr, filepath.Join(s.at.Out(), name+".stderr"))
	}
	return s.runner.oracle(ctx, s.at, strings.Join(statuses, "\n"), strings.Join(stdout, "\n"), strings.Join(stderr, "\n"))
}
