package rule

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"faultlab/internal/op"
)

// Parse reads the one rule that text holds, with or without its leading "on".
// The error is a *SyntaxError.
func Parse(text string) (Rule, error) {
	p, err := single(text)
	if err != nil {
		return Rule{}, err
	}
	if len(p.words) > 0 && p.words[0].text == "on" {
		p.take()
	}
	return p.parse()
}

// ParseSelector reads a selector that stands alone, as a point prints.
// The error is a *SyntaxError.
func ParseSelector(text string) (Selector, error) {
	p, err := single(text)
	if err != nil {
		return Selector{}, err
	}
	if err := p.selector(); err != nil {
		return Selector{}, err
	}
	if w, more := p.take(); more {
		return Selector{}, p.fail(w.Pos, "unexpected %q: expected a selector alone", w.text)
	}
	if err := p.checkKeys(); err != nil {
		return Selector{}, err
	}
	return p.rule.Selector, nil
}

// ParseFile reads a rules file: one rule a line, each beginning with "on".
// Name stands in the errors, of which the first is returned: a *SyntaxError,
// or an *OverlapError from CheckSet.
func ParseFile(name, text string) ([]Rule, error) {
	lines, err := scan(name, text)
	if err != nil {
		return nil, err
	}
	rules := make([]Rule, 0, len(lines))
	for _, l := range lines {
		p := &parser{text: text, line: l}
		if w, _ := p.take(); w.text != "on" {
			return nil, p.fail(w.Pos, `expected "on", found %q`, w.text)
		}
		r, err := p.parse()
		if err != nil {
			return nil, err
		}
		r.Pos = l.words[0].Pos
		rules = append(rules, r)
	}
	return rules, CheckSet(rules)
}

// parser reads the words of one rule from left to right.
type parser struct {
	text string
	line
	rule Rule
	keys map[string]Pos // where each key of the selector stands
	verb word
}

func single(text string) (*parser, error) {
	lines, err := scan("", text)
	if err != nil {
		return nil, err
	}
	p := &parser{text: text}
	if len(lines) > 1 {
		return nil, p.fail(lines[1].words[0].Pos, "expected one rule, found another on line %d", lines[1].words[0].Line)
	}
	p.end = Pos{Line: 1, Col: 1}
	if len(lines) == 1 {
		p.line = lines[0]
	}
	return p, nil
}

func (p *parser) fail(at Pos, format string, args ...any) error {
	return &SyntaxError{Pos: at, Text: p.text, Msg: fmt.Sprintf(format, args...)}
}

// take removes the next word. Behind the last there is an empty one, which
// stands where the rule ends.
func (p *parser) take() (w word, ok bool) {
	if len(p.words) == 0 {
		return word{Pos: p.end}, false
	}
	w, p.words = p.words[0], p.words[1:]
	return w, true
}

// takeIf removes the next word if it is text.
func (p *parser) takeIf(text string) bool {
	if len(p.words) == 0 || p.words[0].text != text {
		return false
	}
	p.take()
	return true
}

func (p *parser) parse() (Rule, error) {
	p.rule.Pos = p.end
	if len(p.words) > 0 {
		p.rule.Pos = p.words[0].Pos
	}
	for _, step := range []func() error{p.selector, p.do, p.action, p.check} {
		if err := step(); err != nil {
			return Rule{}, err
		}
	}
	return p.rule, nil
}

func (p *parser) selector() error {
	w, ok := p.take()
	if !ok {
		return p.fail(w.Pos, "expected an operation (%s)", operations())
	}
	if wordKinds(w.text) == 0 {
		return p.fail(w.Pos, "%s", unknown("operation", w.text, words(), operations()))
	}
	p.rule.Word = w.text
	p.keys = make(map[string]Pos)
	for len(p.words) > 0 && p.words[0].text != "do" {
		if err := p.key(); err != nil {
			return err
		}
	}
	return nil
}

// words lists what a rule may name: kinds first, so that they are suggested
// before the calls that are spelt alike.
func words() []string {
	var ws []string
	for _, k := range op.Kinds() {
		ws = append(ws, k.String())
	}
	return append(append(ws, mutate), op.Calls(op.All)...)
}

func operations() string {
	var ks []string
	for _, k := range op.Kinds() {
		ks = append(ks, k.String())
	}
	return "kinds: " + strings.Join(ks, ", ") + "; mutate; or a system call's name"
}

var selectorKeys = []string{"path", "nth", "proc", "actor", "budget", "mode", "lock"}

func (p *parser) key() error {
	w, _ := p.take()
	key, value, ok := strings.Cut(w.text, "=")
	if !ok {
		return p.fail(w.Pos, `expected a key (%s=) or "do", found %q`, strings.Join(selectorKeys, "=, "), w.text)
	}
	if _, twice := p.keys[key]; twice {
		return p.fail(w.Pos, "duplicate key %q", key)
	}
	p.keys[key] = w.Pos
	if err := p.set(key, value); err != nil {
		return p.fail(w.Pos, "%v", err)
	}
	return nil
}

func (p *parser) set(key, value string) (err error) {
	s := &p.rule.Selector
	switch key {
	case "path":
		s.Path, err = value, checkPath(value)
	case "nth":
		s.Nth, err = parseRange(value)
	case "proc":
		s.Proc, err = value, checkProc(value)
	case "actor":
		if len(value) != 1 || value[0] < 'A' || value[0] > 'Z' {
			return fmt.Errorf("bad actor %q: expected one letter from A to Z", value)
		}
		s.Actor = value[0]
	case "budget":
		if s.Budget, err = parseCount(value, math.MaxInt64); err != nil {
			err = fmt.Errorf("bad budget %q: expected bytes, %w", value, err)
		}
	case "mode":
		var ok bool
		if s.Mode, ok = op.ParseMode(value); !ok {
			err = fmt.Errorf("bad mode %q: expected r, w or rw: how the file was opened", value)
		}
	case "lock":
		var ok bool
		if s.Hold, ok = op.ParseHold(value); !ok {
			err = fmt.Errorf("bad lock %q: expected sh or ex: shared or exclusive", value)
		}
	default:
		list := "keys: " + strings.Join(selectorKeys, ", ")
		return errors.New(unknown("key", key, selectorKeys, list))
	}
	return err
}

func parseRange(text string) (Range, error) {
	first, last, dots := strings.Cut(text, "..")
	bad := func(err error) (Range, error) {
		return Range{}, fmt.Errorf("bad nth %q: expected N, N.. or N..M, %w", text, err)
	}
	n, err := parseCount(first, math.MaxInt32)
	if err != nil {
		return bad(err)
	}
	r := Range{int(n), int(n)}
	if !dots {
		return r, nil
	}
	if r.Last = 0; last == "" {
		return r, nil
	}
	if n, err = parseCount(last, math.MaxInt32); err != nil {
		return bad(err)
	}
	if r.Last = int(n); r.Last < r.First {
		return Range{}, fmt.Errorf("bad nth %q: it ends before it begins: expected N..M with M at least N", text)
	}
	return r, nil
}

// parseCount reads plain digits for a number from 1 to most.
func parseCount(text string, most int64) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(most) {
		return 0, fmt.Errorf("at most %d", most)
	}
	if err != nil || n == 0 {
		return 0, errors.New("a whole number from 1")
	}
	return int64(n), nil
}

func (p *parser) do() error {
	if w, ok := p.take(); !ok {
		return p.fail(w.Pos, `expected "do" and an action (%s)`, strings.Join(verbNames[DoFail:], ", "))
	}
	return nil
}
