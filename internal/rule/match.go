package rule

import (
	"fmt"
	"slices"

	"faultlab/internal/op"

	"github.com/bmatcuk/doublestar/v4"
)

// Matcher counts the operations of one run and says which rule fires. It is
// not safe for concurrent use: whoever orders the operations owns it.
type Matcher struct {
	rules   []counter
	budgets bool // whether any rule has one
}

// counter is one rule with what this run has done to it.
type counter struct {
	rule  Rule
	kinds op.Set // empty where the word is a system call's name
	parts op.Set // the kinds that short, mid and budget can act on
	path  func(name string) bool
	// observes says that path must see every operation, not only those that
	// the rest of the selector lets through.
	observes bool

	count     int   // operations that matched, nth aside
	left      int64 // bytes of the budget
	charged   bool  // the operation at hand takes from the budget
	shortened bool  // a short with an errno has done its first half
	owed      bool  // and the operation that must fail after it is still to come
	fired     bool
	state     state // what the rule has left behind, if it stays
}

// NewMatcher starts counting for one run. Root is the tree's absolute path.
// The rules must be such as Parse returns, or it panics.
func NewMatcher(root string, rules []Rule) *Matcher {
	m := &Matcher{rules: make([]counter, len(rules))}
	for i, r := range rules {
		m.rules[i] = newCounter(root, r)
		m.budgets = m.budgets || r.Budget > 0
	}
	return m
}

func newCounter(root string, r Rule) counter {
	if _, err := Parse(r.String()); err != nil {
		panic(fmt.Sprintf("rule: not a rule that parses: %v", err))
	}
	c := counter{rule: r, left: r.Budget, path: matchPath(r.Path, root), observes: hasHole(r.Path)}
	c.kinds = wordKinds(r.Word)
	c.parts = c.kinds & transfers
	if _, isKind := op.ParseKind(r.Word); !isKind && r.Word != mutate {
		c.kinds = 0
	}
	if r.Budget > 0 || r.When == Mid {
		c.parts &= op.SetOf(op.Write)
	}
	return c
}

// Decide counts o under every rule that selects it, and returns what the first
// rule that fires does, and that rule. Where none fires the action is the zero
// Action and the rule nil. Of a rule of two halves, "short 7 fail ENOSPC" or a
// budget, the action is the half that is due: DoShort without an errno, or
// DoFail. A rule that stays fires again at whatever its state fails.
//
// A budget is charged with what o asks for, so o.Size of a write must be what
// it could really move: for a copy from a file, no more than the file holds.
func (m *Matcher) Decide(o *op.Op) (Action, *Rule) {
	var act Action
	var winner *counter
	kinds := o.Kinds()
	for i := range m.rules {
		c := &m.rules[i]
		selected := c.selects(o, kinds)
		if selected {
			c.count++
			c.charged = c.rule.Budget > 0 && kinds.Meets(c.parts)
		}
		if winner != nil {
			continue
		}
		if c.state.fails(o, kinds) {
			act = Action{Verb: DoFail, Errno: c.rule.Errno}
		} else if selected {
			act = c.due(o, kinds)
		}
		if act.Verb != DoNothing {
			winner = c
		}
	}
	if m.budgets {
		m.charge(o, act)
	}
	if winner == nil {
		return Action{}, nil
	}
	winner.fire(o)
	act.Stay = false
	return act, &winner.rule
}

// fire notes that the rule has fired at o.
func (c *counter) fire(o *op.Op) {
	c.fired = true
	if c.state.errno == 0 && c.rule.stays() {
		c.state = stateAfter(&c.rule, o)
	}
}

// Named reports whether a rule asks for a program's name, which an operation holds
// only then: it takes two more look-ups.
func Named(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Proc != "" })
}

// Unfired lists the rules that have not fired so far, in their order.
func (m *Matcher) Unfired() []Rule {
	var rules []Rule
	for i := range m.rules {
		if !m.rules[i].fired {
			rules = append(rules, m.rules[i].rule)
		}
	}
	return rules
}

// selects asks everything but nth. The path comes late because it costs much.
func (c *counter) selects(o *op.Op, kinds op.Set) bool {
	onPath := c.observes && c.matchesPath(o)
	if c.rule.Actor != 0 && c.rule.Actor != o.Actor {
		return false
	}
	if c.kinds == 0 {
		if c.rule.Word != o.Call {
			return false
		}
	} else if !c.kinds.Meets(kinds) {
		return false
	}
	if !onPath && (c.observes || !c.matchesPath(o)) {
		return false
	}
	if c.rule.Proc != "" && !matchesProc(c.rule.Proc, o.Proc) && !matchesProc(c.rule.Proc, o.Script) {
		return false
	}
	if c.rule.Hold != 0 && c.rule.Hold != o.Hold {
		return false
	}
	return c.rule.Mode == 0 || c.rule.Mode == o.Access() // last: it is looked up only now
}

// matchesPath may leave the second name unseen even by a placeholder: once
// that matches a name it has all its numbers.
func (c *counter) matchesPath(o *op.Op) bool {
	return c.path(o.Path) || o.To != "" && c.path(o.To)
}

// matchesProc knows that a program nobody asked for has an empty name, which
// "*" must not match.
func matchesProc(glob, name string) bool {
	return name != "" && doublestar.MatchUnvalidated(glob, name)
}

// due is what the rule does to o, the operation just counted.
func (c *counter) due(o *op.Op, kinds op.Set) Action {
	switch {
	case c.rule.Budget > 0:
		return c.dueBudget(o)
	case c.rule.Verb == DoShort:
		return c.dueShort(o, kinds)
	case !c.rule.Nth.Has(c.count):
		return Action{}
	case c.rule.Verb == DoKill && c.rule.When == Mid && !c.cuts(o, kinds):
		return Action{}
	}
	return c.rule.Action
}

// cuts reports whether part of o could be done and part left. A size that is
// unknown, -1, is never cut.
func (c *counter) cuts(o *op.Op, kinds op.Set) bool {
	return kinds.Meets(c.parts) && o.Size > c.rule.Bytes
}

func (c *counter) dueShort(o *op.Op, kinds op.Set) Action {
	switch {
	case c.shortened && kinds.Meets(c.parts) && (c.owed || c.rule.Nth.Has(c.count)):
		c.owed = false
		return Action{Verb: DoFail, Errno: c.rule.Errno}
	case !c.rule.Nth.Has(c.count) || !c.cuts(o, kinds):
		return Action{}
	}
	c.shortened = c.rule.Errno != 0
	c.owed = c.shortened
	return Action{Verb: DoShort, Bytes: c.rule.Bytes}
}

func (c *counter) dueBudget(o *op.Op) Action {
	switch {
	case !c.charged || o.Size == 0 || o.Size <= c.left && c.left > 0:
		return Action{}
	case c.left == 0:
		return c.rule.Action
	}
	return Action{Verb: DoShort, Bytes: c.left}
}

// charge takes what o puts into the file, whoever decided how much that is,
// from every budget that it counts against.
func (m *Matcher) charge(o *op.Op, act Action) {
	for i := range m.rules {
		c := &m.rules[i]
		if !c.charged {
			continue
		}
		c.charged = false
		if o.Size > 0 {
			c.left -= min(c.left, act.lands(o.Size))
		}
	}
}
