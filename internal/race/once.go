//go:build linux

package race

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

// once plays one order and judges it.
func (r *Race) once(ctx context.Context, d director) (o outcome) {
	p := &play{
		Race: r, ctx: ctx, want: d, last: nobody, ledger: r.ledger(),
		arrived: make(chan struct{}, 1), looked: make(map[string]look), heard: make(map[string]int),
	}
	o.play = p
	var left *finalState
	err := r.runner.OnStage(ctx, func(stage *trial.Stage) (err error) {
		left, err = p.perform(stage, &o)
		return err
	})
	if err == nil && left != nil { // with the stage given back: it may take others
		o.judgement, err = r.oracle.judge(ctx, left)
	}
	o.err = err
	return o
}

// ledger is a new one that knows what earlier plays have shown.
func (r *Race) ledger() *ledger {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := newLedger(maps.Clone(r.known), r.pattern.Key)
	l.served = maps.Clone(r.served)
	return l
}

// perform plays on a stage up to the verdict, or to what it takes to find one.
func (p *play) perform(stage *trial.Stage, o *outcome) (left *finalState, err error) {
	defer func() {
		if p.server != nil { // it was broken off
			p.server.Discard(p.ctx)
		}
	}()
	err = p.start(stage)
	if err == nil {
		err = p.run()
	}
	if err != nil || p.over != "" {
		p.kill()
	}
	outcomes, ends := p.wait(p.ctx)
	switch {
	case err != nil:
		return nil, err
	case ends != nil && p.over == "":
		return nil, ends
	case p.over == redundant:
		return nil, nil
	}
	o.statuses, o.fired = statuses(outcomes), p.fired()
	o.judgement, left, err = p.judge(stage, outcomes)
	return left, err
}

// dismiss ends the server, once it is not needed any more.
func (p *play) dismiss() error {
	s := p.server
	if p.server = nil; s == nil {
		return nil
	}
	return s.Stop(p.ctx)
}

func (p *play) kill() {
	for _, pl := range p.actors {
		if pl.Actor != nil {
			pl.Kill()
		}
	}
}

func (p *play) wait(ctx context.Context) ([]trial.Outcome, error) {
	var outcomes []trial.Outcome
	var first error
	for _, pl := range p.actors {
		if pl.Actor == nil {
			continue
		}
		o, err := pl.Wait(ctx)
		if err != nil && first == nil {
			first = err
		}
		o.ByRule = o.ByRule || pl.dies
		outcomes = append(outcomes, o)
	}
	return outcomes, first
}

// fired lists the rules that were seen to happen.
func (p *play) fired() map[string]bool {
	out := make(map[string]bool)
	for _, pl := range p.actors {
		unfired := make(map[string]bool)
		for _, r := range pl.Unfired() {
			unfired[r.String()] = true
		}
		for _, r := range p.rulesOf(pl.letter) {
			if !unfired[r.String()] {
				out[r.String()] = true
			}
		}
	}
	return out
}

func statuses(outcomes []trial.Outcome) []int {
	var out []int
	for _, o := range outcomes {
		out = append(out, o.Status())
	}
	return out
}

// judgement is a verdict, or none: an order in which all was well.
type judgement = verdict.Judgement

func found(v verdict.Verdict, cause, detail string) judgement {
	return judgement{Verdict: v, Finding: true, Cause: cause, Detail: detail}
}

// plain finds what needs no look at the tree.
func (r *Race) plain(p *play, outcomes []trial.Outcome) judgement {
	ends := howTheyEnded(outcomes)
	if cause, ok := strings.CutPrefix(p.over, "deadlock: "); ok {
		return found(verdict.Deadlock, cause, "no actor can go on")
	}
	for i, o := range outcomes {
		who := string(letter(i))
		switch {
		case o.Hang != "":
			return found(verdict.Hang, who+" "+o.Hang, ends)
		case len(o.Orphans) > 0:
			return found(verdict.Orphan, who+" leaves a process behind", o.Orphans[0])
		case len(o.Outside) > 0:
			return found(verdict.Escape, who+" writes outside the tree: "+o.Outside[0], ends)
		}
	}
	if p.over != "" {
		return found(verdict.Hang, p.over, ends)
	}
	if p.server != nil && p.server.HasEnded() {
		return found(verdict.Raced, "the server (--serve) ends while it is asked", ends)
	}
	if cause, detail := r.overlap(p.lanes); cause != "" {
		return found(verdict.Overlap, cause, detail+"; "+ends)
	}
	return judgement{}
}

// overlap finds two actors that are both between their first and their last
// change of critical files.
func (r *Race) overlap(lanes []Step) (cause, detail string) {
	if r.Critical == "" {
		return "", ""
	}
	type section struct{ first, last int }
	sections := make(map[byte]section)
	for i := range lanes {
		s := &lanes[i]
		if !r.critical(&s.Op) {
			continue
		}
		sec, ok := sections[s.Actor]
		if !ok {
			sec.first = i
		}
		sec.last = i
		sections[s.Actor] = sec
	}
	var letters []byte
	for l := range sections {
		letters = append(letters, l)
	}
	slices.Sort(letters)
	for i, a := range letters {
		for _, b := range letters[i+1:] {
			x, y := sections[a], sections[b]
			if x.first < y.last && y.first < x.last {
				return fmt.Sprintf("two are inside at once: both change %s", r.Critical),
					fmt.Sprintf("%c from %v to %v, %c from %v to %v", a, lanes[x.first].Point, lanes[x.last].Point, b, lanes[y.first].Point, lanes[y.last].Point)
			}
		}
	}
	return "", ""
}

// critical reports whether an operation changes a critical file.
func (r *Race) critical(o *op.Op) bool {
	if r.Critical == "" || !o.Changes() || looks(o) {
		return false
	}
	return onPath(r.Critical, o)
}

// onPath reports whether one of an operation's names matches a glob, as in a rule.
func onPath(glob string, o *op.Op) bool {
	return o.Path != "" && rule.OnPath(glob, o.Path) || o.To != "" && rule.OnPath(glob, o.To)
}

// howTheyEnded is each actor's exit status, and what a failed one said last.
func howTheyEnded(outcomes []trial.Outcome) string {
	var parts []string
	for i, o := range outcomes {
		said := ""
		if o.Status() != 0 {
			said = trial.LastLine(o.Stderr)
		}
		parts = append(parts, fmt.Sprintf("%c ends with %d%s", letter(i), o.Status(), said))
	}
	return strings.Join(parts, "; ")
}
