//go:build linux

package crash

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/record"
)

// Term says of some of the events that are not durable what becomes of them. Of
// two terms about one event the later one counts.
type Term struct {
	Fate Fate
	At   int64 // bytes
	Sel  Selection
}

// Scope is a kind of selection.
type Scope uint8

// The scopes.
const (
	One    Scope = iota // the event
	All                 // all that is not durable, from the event on
	Names               // names that come, go or move, from the event on
	Data                // writes and lengths
	DataOf              // … of the file that the event is about
)

// Selection picks events out of those that are not durable.
type Selection struct {
	Scope Scope
	Event int // -1: from the beginning
}

func (d *disk) selects(s Selection, i int) bool {
	e := &d.rec.Events[i]
	switch s.Scope {
	case One:
		return i == s.Event
	case All:
		return i >= s.Event
	case Names:
		return isName(e) && i >= s.Event
	case Data:
		return !isName(e)
	}
	return !isName(e) && e.ID == d.rec.Events[s.Event].ID
}

// fates is what becomes of each event before the state's point.
func (d *disk) fates(s *State) []loss {
	if len(s.Terms) == 0 {
		return make([]loss, s.Point)
	}
	return d.resolve(s, d.pending(s.Point))
}

// resolve turns a state's terms into what each event's fate is.
func (d *disk) resolve(s *State, pending []int) []loss {
	out := make([]loss, s.Point)
	for _, t := range s.Terms {
		for _, i := range pending {
			if d.selects(t.Sel, i) {
				out[i] = loss{d.fitting(i, t.Fate), t.At}
			}
		}
	}
	return out
}

// fitting is the fate that an event can have: what is no growing write is lost
// where only sizes last, and a length lasts there.
func (d *disk) fitting(i int, f Fate) Fate {
	e := &d.rec.Events[i]
	switch {
	case f == Sized && e.Kind == record.Size:
		return Kept
	case f == Sized && e.Kind != record.Write:
		return Kept // attributes are kept where lengths are
	}
	return f
}

// labels name events as a person would: what was done, to which path, and the
// how manieth time.
func labels(events []record.Event) []string {
	count := make(map[string]int)
	out := make([]string, len(events))
	for i := range events {
		word := wordOf(&events[i])
		count[word]++
		out[i] = fmt.Sprintf("%s#%d", word, count[word])
	}
	return out
}

func wordOf(e *record.Event) string {
	if e.Kind == record.Say {
		return "say"
	}
	verb, path := e.Op.Kind.String(), e.Op.Path
	if e.Op.To != "" && (e.Op.Kind == op.Rename || e.Op.Kind == op.Link) {
		path = e.Op.To
	}
	switch {
	case e.Stored:
		verb = "store"
	case e.Failed:
		verb = "failed sync"
	case e.Kind == record.Sync && e.Op.Kind != op.Sync:
		verb = "synced " + verb // O_SYNC
	}
	return verb + " " + plain(path)
}

// plain is a path that can stand in a choice.
func plain(path string) string {
	if path == "" || strings.ContainsAny(path, " ,;:#\"'\\`") || strconv.Quote(path) != `"`+path+`"` {
		return strconv.Quote(path)
	}
	return path
}

// atTheEnd is the point behind the last event.
const atTheEnd = "at the end"

// print is the state as --only takes it.
func (d *disk) print(s *State) string {
	var b strings.Builder
	switch {
	case s.Part > 0:
		fmt.Fprintf(&b, "within %s at %d", d.labels[s.Point], s.Part)
	case s.Point == 0:
		b.WriteString("at the start")
	case s.Point == len(d.labels):
		b.WriteString(atTheEnd)
	default:
		b.WriteString("after " + d.labels[s.Point-1])
	}
	last := ""
	for _, t := range s.Terms {
		fate := t.Fate.String()
		if t.Fate.sized() {
			fate += fmt.Sprintf(" %d", t.At)
		}
		if fate == last {
			b.WriteString("; " + d.printSelection(t.Sel))
			continue
		}
		last = fate
		b.WriteString(", " + fate + ": " + d.printSelection(t.Sel))
	}
	return b.String()
}

func (d *disk) printSelection(s Selection) string {
	switch {
	case s.Scope == One:
		return d.labels[s.Event]
	case s.Scope == DataOf:
		return "data of " + d.labels[s.Event]
	case s.Scope == Data:
		return "data"
	}
	word := "all"
	if s.Scope == Names {
		word = "names"
	}
	if s.Event >= 0 {
		word += " from " + d.labels[s.Event]
	}
	return word
}

// errGone says that a choice names what the record does not hold.
type errGone struct{ label string }

func (e errGone) Error() string { return fmt.Sprintf("the record holds no %s", e.label) }

// parse reads a choice back. An error that is no errGone is the user's.
func (d *disk) parse(choice string) (*State, error) {
	parts := cut(choice, ", ")
	s := new(State)
	var gone errGone
	missing := d.parsePoint(s, parts[0])
	if missing != nil && !errors.As(missing, &gone) {
		return nil, missing
	}
	for _, p := range parts[1:] {
		err := d.parseTerms(s, p)
		if err != nil && !errors.As(err, &gone) {
			return nil, err // it is wrong, whatever the record holds
		}
		missing = cmp.Or(missing, err)
	}
	if missing != nil {
		return nil, missing
	}
	d.complete(s, d.fates(s))
	return s, nil
}

func (d *disk) parsePoint(s *State, text string) error {
	switch text {
	case "at the start":
		return nil
	case atTheEnd:
		s.Point = len(d.labels)
		return nil
	}
	if label, ok := strings.CutPrefix(text, "after "); ok {
		i, err := d.event(label)
		s.Point = i + 1
		return err
	}
	label, ok := strings.CutPrefix(text, "within ")
	at := strings.LastIndex(label, " at ")
	if !ok || at < 0 {
		return fmt.Errorf("%q: want 'after EVENT', 'within EVENT at BYTES', 'at the start' or 'at the end'", text)
	}
	part, err := strconv.ParseInt(label[at+len(" at "):], 10, 64)
	if err != nil || part <= 0 {
		return fmt.Errorf("%q: want a number of bytes above 0 behind at", text)
	}
	s.Part = part
	if s.Point, err = d.event(label[:at]); err != nil {
		return err
	}
	if e := &d.rec.Events[s.Point]; e.Kind != record.Write || e.Len() <= part {
		return errGone{fmt.Sprintf("write of more than %d bytes at %s", part, label[:at])}
	}
	return nil
}

func (d *disk) parseTerms(s *State, text string) error {
	fate, list, ok := strings.Cut(text, ": ")
	if !ok {
		return fmt.Errorf("%q: want a fate, a colon and events, such as 'lost: all'", text)
	}
	t, err := parseFate(fate)
	if err != nil {
		return err
	}
	for _, sel := range cut(list, "; ") {
		if t.Sel, err = d.parseSelection(sel); err != nil {
			return err
		}
		s.Terms = append(s.Terms, t)
	}
	return nil
}

func parseFate(text string) (Term, error) {
	word, number := text, ""
	if i := strings.LastIndexByte(text, ' '); i >= 0 && text != Sized.String() {
		word, number = text[:i], text[i+1:]
	}
	for f, n := range fateNames {
		if n != word {
			continue
		}
		t := Term{Fate: Fate(f)}
		if !t.Fate.sized() && number == "" {
			return t, nil
		}
		at, err := strconv.ParseInt(number, 10, 64)
		if err == nil && at > 0 && t.Fate.sized() {
			t.At = at
			return t, nil
		}
	}
	return Term{}, fmt.Errorf("fate %q: want kept, lost, size only, head N, tail N, cut N, grown N or zeroed", text)
}

func (d *disk) parseSelection(text string) (Selection, error) {
	switch text {
	case "all":
		return Selection{All, -1}, nil
	case "names":
		return Selection{Names, -1}, nil
	case "data":
		return Selection{Data, -1}, nil
	}
	for prefix, scope := range map[string]Scope{"all from ": All, "names from ": Names, "data of ": DataOf} {
		if label, ok := strings.CutPrefix(text, prefix); ok {
			i, err := d.event(label)
			return Selection{scope, i}, err
		}
	}
	i, err := d.event(text)
	return Selection{One, i}, err
}

func (d *disk) event(label string) (int, error) {
	for i, l := range d.labels {
		if l == label {
			return i, nil
		}
	}
	if !strings.Contains(label, "#") {
		return 0, fmt.Errorf("event %q: want one such as 'write a.db#1'", label)
	}
	return 0, errGone{label}
}

// cut splits at a separator that does not stand in quotes.
func cut(s, sep string) []string {
	var out []string
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(s[i:], sep):
			out = append(out, s[from:i])
			from = i + len(sep)
			i = from - 1
		}
	}
	return append(out, s[from:])
}
