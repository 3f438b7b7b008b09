package crash

import (
	"errors"
	"fmt"

	"faultlab/internal/record"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// then stands between a crash and the one in the recovery from it.
const then = ", then "

// again records the recovery from each state and lists what a crash in it can
// leave.
func (c *Crash) again() []trial.Case {
	var cases []trial.Case
	var sum Counts
	recorded, skipped := 0, 0
	for _, t := range c.takes {
		for _, s := range t.states {
			if c.ctx.Err() != nil {
				return cases
			}
			r, err := c.recovery(t, s)
			switch {
			case errors.Is(err, errFails):
				skipped++ // that it does is a finding of its own, or none
				continue
			case err != nil:
				cases = append(cases, unrecorded(t.prefix+t.print(s), err))
				continue
			}
			recorded++
			cases = append(cases, c.crashed(r, c.settings.Most-len(cases))...)
			sum = sum.plus(r.counts)
		}
	}
	text := fmt.Sprintf("recovery: recorded from %d states, %d states generated, %d distinct; not from %d, in which it fails",
		recorded, sum.Generated, sum.Distinct, skipped)
	c.log.Note("%s%s", text, sum.omitted())
	c.log.Left(sum.Left)
	return cases
}

// errFails says that a recovery fails without any crash in it.
var errFails = errors.New("the recovery fails by itself")

// unrecorded is a void case: nobody knows what a crash in the recovery from this
// state leaves.
func unrecorded(choice string, why error) trial.Case {
	return trial.Case{Choice: choice + then + "any crash", State: &trial.State{Build: func(string, func(string)) error { return why }}}
}

// crashed lists the states of a recovery that are neither where it began nor where
// it ended.
func (c *Crash) crashed(r *take, most int) []trial.Case {
	opts := c.settings.Options
	opts.Silent, opts.Ended, opts.Most = true, false, max(most, 0)
	states, counts := r.enumerate(opts)
	r.counts = counts
	var cases []trial.Case
	for _, s := range states {
		if !s.Dies || s.Part > 0 || s.Point > 0 && s.Point < len(r.rec.Events) {
			cases = append(cases, c.newCase(r, s))
		}
	}
	return cases
}

func (n Counts) plus(m Counts) Counts {
	return Counts{n.Operations + m.Operations, n.Generated + m.Generated, n.Distinct + m.Distinct,
		n.Impossible + m.Impossible, n.Left + m.Left, n.Untorn + m.Untorn}
}

// recovery records the next run from a state.
func (c *Crash) recovery(t *take, s *State) (*take, error) {
	rec := new(record.Record)
	said := t.said0(s)
	state := &trial.State{Build: t.builder(s), Said: said}
	run, err := c.runner.Do(c.ctx, trial.Case{State: state, Record: rec})
	switch {
	case err != nil:
		return nil, err
	case rec.Void != "":
		return nil, shim.Voidf("record the recovery: %s", rec.Void)
	case len(run.Next.Orphans) > 0:
		return nil, shim.Voidf("record the recovery: it leaves a process behind (%s)", run.Next.Orphans[0])
	case run.Next.Hang != "" || run.Next.Status() != c.controls.Next && run.Next.Status() != 0:
		return nil, errFails
	}
	c.rename(rec)
	r := &take{prefix: t.prefix + t.print(s) + then, base: state.Build, before: said,
		disk: newDisk(rec, t.readerOf(s, rec))}
	return r, c.replay(c.ctx, r, run.After)
}

// readerOf reads the files of a state, as a later record found them.
func (t *take) readerOf(s *State, rec *record.Record) reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.leaves(s)
	held := make(map[string]record.ID)
	for id := range t.objects {
		for _, path := range l.reached(id) {
			held[path] = id
		}
	}
	paths := basePaths(rec)
	return func(id record.ID, off int64, buf []byte) {
		from, ok := held[paths[id]]
		if !ok {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		im := l.image(from)
		if end := min(off+int64(len(buf)), im.size); end > off {
			copy(buf, im.bytes(t.read, off, end))
		}
	}
}
