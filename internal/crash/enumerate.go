//go:build linux

package crash

import (
	"fmt"

	"faultlab/internal/record"
)

// Options narrow what is tried.
type Options struct {
	Model Models
	// Bytes tears a write at every byte where the program dies, and not only
	// where pages of the file begin.
	Bytes bool
	// Silent says that nobody asks what had been printed: states that differ in
	// nothing else are one.
	Silent bool
	// Ended keeps what a crash after the program's end can leave apart from what
	// one before it can: only then something can be lost.
	Ended bool
	// Depth is how many events are lost beyond what is lost together anyway: 1,
	// which 0 stands for, or 2.
	Depth int
	// Most bounds the distinct states.
	Most int
	// Done ends the enumeration early; nil never does.
	Done <-chan struct{}
}

// Counts say how many states there were.
type Counts struct {
	Operations int // events that change something or promise it
	Generated  int
	Distinct   int
	Impossible int // that no disk can hold
	// Left are candidates that were left out for being too many, at the least: with
	// one its tears are. What they would have left, some state that was tried may
	// hold, too.
	Left int
	// Untorn are places in long writes at which the program does not die: those that
	// are tried lie evenly between them.
	Untorn int
}

// omitted says what was not tried.
func (n Counts) omitted() string {
	text := ""
	if n.Untorn > 0 {
		text += fmt.Sprintf("; within long writes %d more places, between those that were tried", n.Untorn)
	}
	if n.Left > 0 {
		text += fmt.Sprintf("; at least %d candidates left out, for they were too many", n.Left)
	}
	return text
}

// enumeration collects distinct states.
type enumeration struct {
	d      *disk
	opts   Options
	counts Counts
	states []*State
	byKey  map[key]*State
	// pending is what can be lost at the point that is being looked at.
	pending []int
}

// enumerate lists the distinct states that a model allows. The simplest way to
// reach each comes first.
func (d *disk) enumerate(opts Options) ([]*State, Counts) {
	e := &enumeration{d: d, opts: opts, byKey: make(map[key]*State)}
	for i := range d.rec.Events {
		if d.rec.Events[i].Kind != record.Say {
			e.counts.Operations++
		}
	}
	for point := 0; point <= len(d.rec.Events); point++ {
		select {
		case <-opts.Done:
			return e.states, e.counts
		default:
		}
		if point == 0 || !d.rec.Events[point-1].More {
			e.point(point)
		}
	}
	return e.states, e.counts
}

func (e *enumeration) point(point int) {
	e.pending = e.d.pending(point)
	e.add(&State{Point: point})
	if len(e.pending) > 0 {
		e.losses(point, e.late(e.fresh(point)))
	}
	if point < len(e.d.rec.Events) {
		e.within(point)
	}
}

// mostSingles bounds how many events are lost one by one, over all points.
const mostSingles = 30_000

// late are the events that can be lost, the latest of them where they are many:
// the others had their turn at earlier points.
func (e *enumeration) late(fresh bool) []int {
	window := max(16, mostSingles/len(e.d.rec.Events))
	if skipped := len(e.pending) - window; skipped > 0 {
		e.leave(skipped, fresh)
		return e.pending[skipped:]
	}
	return e.pending
}

// leave counts what would have been lost alone and, where that is asked for, kept
// alone.
func (e *enumeration) leave(n int, kept bool) {
	e.counts.Left += n
	if kept {
		e.counts.Left += n
	}
}

// maxParts bounds how often one write is torn.
const maxParts = 64

// within tears the write at a point: the program dies in its midst.
func (e *enumeration) within(point int) {
	ev := &e.d.rec.Events[point]
	if ev.Kind != record.Write || ev.Stored {
		return
	}
	step := int64(page)
	if e.opts.Bytes {
		step = 1
	}
	first := step - ev.Off%step
	total := (ev.Len() - first + step - 1) / step
	if total > maxParts {
		each := (total + maxParts - 1) / maxParts
		e.counts.Untorn += int(total - (total+each-1)/each)
		step *= each
	}
	for part := first; part < ev.Len(); part += step {
		e.add(&State{Point: point, Part: part})
	}
}

// losses tries what may be lost at a point. Where the last event is a change, what
// loses it was tried at the point before: it was no different then.
func (e *enumeration) losses(point int, pending []int) {
	try := func(terms ...Term) { e.add(&State{Point: point, Terms: terms}) }
	all, names, data := Selection{All, -1}, Selection{Names, -1}, Selection{Data, -1}
	fresh := e.fresh(point)
	if fresh {
		try(Term{Lost, 0, all})
	}
	try(Term{Lost, 0, names})
	for _, i := range pending {
		for _, t := range e.fates(i) {
			try(t)
		}
		if fresh || i == point-1 {
			try(Term{Lost, 0, all}, Term{Kept, 0, Selection{One, i}})
		}
	}
	for _, i := range e.firstOfFiles(pending) {
		try(Term{Lost, 0, Selection{DataOf, i}})
		try(Term{Lost, 0, data}, Term{Kept, 0, Selection{DataOf, i}})
	}
	if fresh {
		for _, i := range pending[1:] {
			try(Term{Lost, 0, Selection{All, i}})
		}
	}
	e.namesFromTheEnd(point, pending, fresh)
	if e.opts.Depth > 1 {
		e.pairs(point, fresh)
	}
}

// fresh reports whether losing all from some event on can leave what it did not
// before: after a sync, after a word, and at the end.
func (e *enumeration) fresh(point int) bool {
	last := &e.d.rec.Events[point-1]
	return !fallible(last) || last.Stored || point == len(e.d.rec.Events)
}

// fates are what can become of one event alone.
func (e *enumeration) fates(i int) []Term {
	ev := &e.d.rec.Events[i]
	one := Selection{One, i}
	terms := []Term{{Lost, 0, one}}
	switch {
	case ev.Kind == record.Size && ev.Size%page != 0:
		terms = append(terms, Term{Zeroed, 0, one})
	case ev.Kind == record.Write:
		if !ev.Keeps {
			terms = append(terms, Term{Sized, 0, one})
			terms = append(terms, grown(ev, one)...)
		}
		for _, at := range tears(ev.Off, ev.Len()) {
			terms = append(terms, Term{Head, at, one}, Term{Cut, at, one}, Term{Tail, at, one})
		}
	}
	return terms
}

// grown ends a write's growth where its first page ends. A journal may commit with a
// length of which the part on a page that had a block already counts, while the next
// page has none yet.
func grown(ev *record.Event, one Selection) []Term {
	if at := page - ev.Off%page; at < ev.Len() {
		return []Term{{Grown, at, one}}
	}
	return nil
}

// tears are the lengths after which a write of several sectors can be torn: the
// first sector, the middle one, and before the last.
func tears(off, size int64) []int64 {
	first := sector - off%sector
	last := (off+size-1)/sector*sector - off
	if first >= size {
		return nil
	}
	var out []int64
	for _, at := range []int64{first, first + (last-first)/2/sector*sector, last} {
		if len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return out
}

// firstOfFiles is the first data event of each file.
func (e *enumeration) firstOfFiles(pending []int) []int {
	seen := make(map[record.ID]bool)
	var out []int
	for _, i := range pending {
		ev := &e.d.rec.Events[i]
		if isData(ev) && !seen[ev.ID] {
			seen[ev.ID] = true
			out = append(out, i)
		}
	}
	return out
}

// namesFromTheEnd loses names from some point on, as journals do, with every
// sort of loss of data: this is where most programs break.
func (e *enumeration) namesFromTheEnd(point int, pending []int, fresh bool) {
	last := -1 // the name before the cut
	for _, i := range pending {
		if !isName(&e.d.rec.Events[i]) {
			continue
		}
		// A new name that is lost changes nothing about what a cut before it leaves.
		if fresh || i == point-1 || isData(&e.d.rec.Events[point-1]) {
			terms := []Term{{Lost, 0, Selection{Names, i}}}
			e.add(&State{Point: point, Terms: terms})
			e.dataLosses(point, terms, last)
		}
		last = i
	}
	e.dataLosses(point, nil, last)
}

// dataLosses adds losses of data: all of it, and that of the file that was
// named last.
func (e *enumeration) dataLosses(point int, terms []Term, last int) {
	data := Selection{Data, -1}
	try := func(more ...Term) {
		e.add(&State{Point: point, Terms: append(terms[:len(terms):len(terms)], more...)})
	}
	try(Term{Lost, 0, data})
	try(Term{Sized, 0, data})
	e.shorter(point, append(terms[:len(terms):len(terms)], Term{Sized, 0, data}))
	if last < 0 {
		return
	}
	for _, i := range e.pending {
		ev := &e.d.rec.Events[i]
		if isData(ev) && ev.ID == e.d.rec.Events[last].ID {
			try(Term{Lost, 0, Selection{DataOf, i}})
			try(Term{Sized, 0, Selection{DataOf, i}})
			try(Term{Lost, 0, data}, Term{Kept, 0, Selection{DataOf, i}})
			return
		}
	}
}

// shorter loses all data but a length that ends within the last write.
func (e *enumeration) shorter(point int, terms []Term) {
	ev := &e.d.rec.Events[point-1]
	if ev.Kind != record.Write || ev.Keeps || ev.Stored {
		return
	}
	for _, t := range grown(ev, Selection{One, point - 1}) {
		e.add(&State{Point: point, Terms: append(terms, t)})
	}
}

// add keeps a state that is allowed and new.
func (e *enumeration) add(s *State) {
	e.counts.Generated++
	fates := e.d.resolve(s, e.pending)
	e.d.complete(s, fates)
	if s.Models&(e.opts.Model|Death) == 0 {
		return
	}
	l := e.d.leavesOf(s, fates)
	if l == nil {
		e.counts.Impossible++
		return
	}
	said := e.d.said[s.Point]
	if e.opts.Silent {
		said = 0
	}
	if e.opts.Ended && s.Point == len(e.d.rec.Events) {
		said = -1
	}
	k := l.key(said)
	if known := e.byKey[k]; known != nil {
		known.Models |= s.Models
		return
	}
	e.byKey[k] = s
	if len(e.states) >= e.opts.Most {
		e.counts.Left++
		return
	}
	e.counts.Distinct++
	e.states = append(e.states, s)
}
