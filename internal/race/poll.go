//go:build linux

package race

import (
	"fmt"

	"faultlab/internal/op"
)

// poll finds out whether an actor looks at the same things again, and at nothing
// else, while nothing has changed. Its turn is over then.
func (p *play) poll(w *pending) {
	if !looks(&w.op) {
		p.changes++
		for _, pl := range p.actors {
			pl.polls = false
		}
		return
	}
	if w.op.Kind == op.Connect {
		p.connects(w)
	}
	often := pollsAfter
	if w.op.Kind == op.Read || w.op.Kind == op.Readdir {
		often = readsAfter
	}
	p.news(w.player, &w.op)
	key := lookedAt(w.player, &w.op)
	l := p.looked[key]
	if l.news != w.player.news {
		l = look{changes: p.changes, news: w.player.news}
	}
	l.times++
	p.looked[key] = l
	w.player.polls = l.times >= often
}

// news notes that an actor looks at something, be it a point or not. What it has not
// looked at as things stand is something else: it gets on, and what it looks at from
// now on is counted anew.
func (p *play) news(pl *player, o *op.Op) {
	key := lookedAt(pl, o)
	if l, seen := p.looked[key]; seen && l.changes == p.changes {
		return
	}
	pl.news++
	p.looked[key] = look{changes: p.changes, news: pl.news}
}

func lookedAt(pl *player, o *op.Op) string {
	return fmt.Sprintf("%c %s %s %d", pl.letter, o.Call, o.Path, o.Off)
}

// look is how often an actor has looked at something since the last change.
type look struct{ changes, news, times int }

// connects notes that an actor connects to a socket: what others are told there
// may change. Its later tries, with nothing changed, are a poll, and no news.
func (p *play) connects(w *pending) {
	w.player.asked = true
	key := string(w.player.letter) + w.op.Path
	if at, tried := p.heard[key]; tried && at == p.changes {
		return
	}
	p.heard[key] = p.changes
	for _, pl := range p.actors {
		if pl != w.player {
			pl.polls = false
			pl.news++
		}
	}
}

// pollsAfter is how often an actor looks at the same thing, with nothing changed
// in between, before it is said to poll. Twice is a program that makes sure.
// A file is read piece by piece.
const (
	pollsAfter = 3
	readsAfter = 100
)
