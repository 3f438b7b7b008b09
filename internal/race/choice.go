//go:build linux

package race

import (
	"fmt"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// Choice is an order in words: the switches that nature would not have made,
// such as "A before unlink path=./run.lock nth=1 -> B; B stops -> A".
func Choice(steps []Step) string {
	var parts []string
	for _, s := range steps {
		if !s.Forced {
			continue
		}
		who := string(s.Actor)
		if s.Dies {
			who += dies
		}
		switch {
		case s.From == 0:
			parts = append(parts, "start "+who)
		case s.Before == (op.Point{}):
			parts = append(parts, fmt.Sprintf("%c stops -> %s", s.From, who))
		case s.Dies && s.From == s.Actor:
			parts = append(parts, fmt.Sprintf("%s before %s", who, bare(s.Before)))
		default:
			parts = append(parts, fmt.Sprintf("%c before %s -> %s", s.From, bare(s.Before), who))
		}
	}
	if len(parts) == 0 {
		return "in turn"
	}
	return strings.Join(parts, "; ")
}

// dies stands behind an actor that does not go on, but is killed.
const dies = " dies"

// bare is a point without its actor, which stands before it.
func bare(p op.Point) string {
	p.Actor = 0
	return p.String()
}

// Compact is an order in short: who moved how often, "A6B7A2".
func Compact(steps []Step) string {
	var b strings.Builder
	for i := 0; i < len(steps); {
		if steps[i].Dies {
			fmt.Fprintf(&b, "%c†", steps[i].Actor)
			i++
			continue
		}
		n := i
		for n < len(steps) && steps[n].Actor == steps[i].Actor && !steps[n].Dies {
			n++
		}
		fmt.Fprintf(&b, "%c%d", steps[i].Actor, n-i)
		i = n
	}
	return b.String()
}

// script directs by the switches of a choice.
type script struct {
	switches []change
	next     int
}

// change is a switch from one actor to another, or one's death.
type change struct {
	from   byte   // 0: at the start
	before string // a selector, or "" where the actor stops
	to     byte
	dies   bool
}

// parseChoice reads what Choice prints.
func parseChoice(text string, actors int) (*script, error) {
	s := &script{}
	if text == "in turn" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, "; ") {
		t, err := parseChange(part)
		if err != nil {
			return nil, err
		}
		for _, l := range []byte{t.from, t.to} {
			if l != 0 && int(l-'A') >= actors {
				return nil, fmt.Errorf("%q: there is no actor %c", part, l)
			}
		}
		s.switches = append(s.switches, t)
	}
	return s, nil
}

func parseChange(part string) (change, error) {
	if to, ok := strings.CutPrefix(part, "start "); ok {
		if to, dead := strings.CutSuffix(to, dies); isLetter(to) {
			return change{to: to[0], dies: dead}, nil
		}
	}
	if len(part) > 1 && isLetter(part[:1]) {
		if before, ok := strings.CutPrefix(part[1:], dies+" before "); ok {
			return change{part[0], before, part[0], true}, checkPoint(before)
		}
	}
	left, to, ok := cutLast(part, " -> ")
	to, dead := strings.CutSuffix(to, dies)
	if !ok || !isLetter(to) || len(left) < 2 || !isLetter(left[:1]) {
		return change{}, fmt.Errorf("%q: want \"start X\", \"X stops -> Y\" or \"X before OPERATION -> Y\", where Y may be \"Y dies\", or \"X dies before OPERATION\"", part)
	}
	t := change{from: left[0], to: to[0], dies: dead}
	if left[1:] == " stops" {
		return t, nil
	}
	before, ok := strings.CutPrefix(left[1:], " before ")
	if !ok {
		return t, fmt.Errorf("%q: want \"%c stops\" or \"%c before OPERATION\"", part, t.from, t.from)
	}
	t.before = before
	return t, checkPoint(before)
}

func checkPoint(selector string) error {
	_, err := rule.Parse(selector + " do kill")
	return err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func isLetter(s string) bool { return len(s) == 1 && 'A' <= s[0] && s[0] < 'A'+MaxActors }

// direct implements director.
func (s *script) direct(i int, n *node) (turn, error) {
	if s.next == len(s.switches) {
		return nature, nil
	}
	t := s.switches[s.next]
	if !t.at(i, n) {
		return nature, nil
	}
	s.next++
	if to := int(t.to - 'A'); n.enabled.has(to) {
		return turn{actor: to, dies: t.dies}, nil
	}
	return nature, fmt.Errorf("%w: %c cannot go on where it should", errDeparted, t.to)
}

// at reports whether a node is where a switch is to be made.
func (t change) at(i int, n *node) bool {
	switch {
	case t.from == 0:
		return i == 0
	case n.last == nobody || letter(n.last) != t.from:
		return false
	case t.before == "":
		return !n.enabled.has(n.last)
	}
	return n.enabled.has(n.last) && bare(n.names[n.last]) == t.before
}

// done reports whether every switch was made.
func (s *script) done() bool { return s.next == len(s.switches) }
