package rule

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"faultlab/internal/op"
)

// usage is each action's grammar, in the order of the verbs.
var usage = [verbEnd]string{
	DoFail:   "fail ERRNO [stay]",
	DoShort:  "short K [fail ERRNO [stay]]",
	DoKill:   "kill [process] [after | mid K]",
	DoSignal: "signal SIG",
	DoDelay:  "delay D",
	DoHold:   "hold until=FILE [mark=FILE]",
}

func (p *parser) action() error {
	w, ok := p.take()
	names := verbNames[DoFail:]
	list := "actions: " + strings.Join(names, ", ")
	if !ok {
		return p.fail(w.Pos, `expected an action after "do" (%s)`, list)
	}
	i := slices.Index(names, w.text)
	if i < 0 {
		return p.fail(w.Pos, "%s", unknown("action", w.text, names, list))
	}
	p.verb, p.rule.Verb = w, DoFail+Verb(i)
	if err := p.arguments(); err != nil {
		return err
	}
	if w, more := p.take(); more {
		return p.fail(w.Pos, "unexpected %q: expected no more than %q", w.text, usage[p.rule.Verb])
	}
	return nil
}

func (p *parser) arguments() error {
	a := &p.rule.Action
	switch a.Verb {
	case DoFail:
		return p.failure()
	case DoShort:
		return p.short()
	case DoKill:
		return p.kill()
	case DoSignal:
		return p.argument(a.readSignal)
	case DoDelay:
		return p.argument(a.readDelay)
	}
	return p.hold()
}

// argument hands the next word, which must be there, to read.
func (p *parser) argument(read func(string) error) error {
	w, ok := p.take()
	if !ok {
		return p.fail(w.Pos, "expected %q, found its end", usage[p.rule.Verb])
	}
	if err := read(w.text); err != nil {
		return p.fail(w.Pos, "%v", err)
	}
	return nil
}

func (p *parser) failure() error {
	if err := p.argument(p.rule.readErrno); err != nil {
		return err
	}
	p.rule.Stay = p.takeIf("stay")
	return nil
}

func (p *parser) short() error {
	if err := p.argument(p.rule.readBytes); err != nil {
		return err
	}
	if p.takeIf("fail") {
		return p.failure()
	}
	return nil
}

func (p *parser) kill() error {
	p.rule.Process = p.takeIf("process")
	if p.takeIf("after") {
		p.rule.When = After
		return nil
	}
	if p.takeIf("mid") {
		p.rule.When = Mid
		return p.argument(p.rule.readBytes)
	}
	return nil
}

func (p *parser) hold() error {
	end := p.end
	for len(p.words) > 0 {
		if err := p.argument(p.rule.readFile); err != nil {
			return err
		}
	}
	if p.rule.Until == "" {
		return p.fail(end, "hold needs until=FILE: expected %q", usage[DoHold])
	}
	return nil
}

func (a *Action) readErrno(text string) error {
	var ok bool
	if a.Errno, ok = ParseErrno(text); !ok {
		return errors.New(unknownName("errno", text, slices.Sorted(maps.Keys(errnos)), "ENOSPC, EIO or EACCES"))
	}
	return nil
}

func (a *Action) readSignal(text string) error {
	var ok bool
	if a.Signal, ok = ParseSignal(text); !ok {
		return errors.New(unknownName("signal", text, slices.Sorted(maps.Keys(signals)), "SIGTERM, SIGSTOP or SIGUSR1"))
	}
	return nil
}

func (a *Action) readDelay(text string) (err error) {
	if a.Delay, err = time.ParseDuration(text); err != nil || a.Delay <= 0 {
		return fmt.Errorf("bad delay %q: expected a time above 0 with its unit, such as 50ms or 2s", text)
	}
	return nil
}

func (a *Action) readBytes(text string) (err error) {
	if a.Bytes, err = parseCount(text, math.MaxInt64); err != nil {
		return fmt.Errorf("bad number %q: expected bytes, %w", text, err)
	}
	return nil
}

// readFile reads one key of hold.
func (a *Action) readFile(text string) error {
	key, value, ok := strings.Cut(text, "=")
	into := map[string]*string{"until": &a.Until, "mark": &a.Mark}[key]
	switch {
	case !ok:
		return fmt.Errorf("unexpected %q: expected %q", text, usage[DoHold])
	case into == nil:
		return errors.New(unknown("key", key, []string{"until", "mark"}, "keys: until, mark"))
	case *into != "":
		return fmt.Errorf("duplicate key %q", key)
	case value == "":
		return fmt.Errorf("%s= needs a file", key)
	}
	*into = value
	return nil
}

// transfers holds the kinds that move bytes, and so can be done in part.
var transfers = op.SetOf(op.Read, op.Write)

// check asks whether action, operation and budget go together.
func (p *parser) check() error {
	r := &p.rule
	kinds := wordKinds(r.Word)
	switch {
	case r.Verb == DoShort && !kinds.Meets(transfers):
		return p.fail(p.verb.Pos, "short needs an operation that moves bytes (read, write, mutate, or such a system call), not %q", r.Word)
	case r.Verb == DoKill && r.When == Mid && !kinds.Has(op.Write):
		return p.fail(p.verb.Pos, "kill mid needs an operation that writes (write, mutate, or such a system call), not %q", r.Word)
	case r.Budget > 0 && r.Verb != DoFail:
		return p.fail(p.verb.Pos, `budget needs the action "fail ERRNO", not %q`, r.Verb)
	}
	return p.checkKeys()
}

// checkKeys asks whether the keys of the selector go with its operation.
func (p *parser) checkKeys() error {
	s := &p.rule.Selector
	kinds := wordKinds(s.Word)
	switch {
	case s.Mode != 0 && !op.HasMode(kinds):
		return p.fail(p.keys["mode"], "mode needs an operation on an open file, or one that opens, not %q", s.Word)
	case s.Hold != 0 && !kinds.Has(op.Lock):
		return p.fail(p.keys["lock"], "lock= needs lock, flock or fcntl, not %q", s.Word)
	}
	return p.checkBudget()
}

func (p *parser) checkBudget() error {
	s := &p.rule.Selector
	switch {
	case s.Budget == 0:
		return nil
	case s.Nth != Range{}:
		return p.fail(p.keys["budget"], "budget and nth cannot stand together: a budget counts bytes, nth counts operations")
	case s.Word == mutate || !wordKinds(s.Word).Has(op.Write):
		return p.fail(p.keys["budget"], "budget needs write, or a system call that writes, not %q", s.Word)
	}
	return nil
}
