//go:build linux

package race

import (
	"slices"

	"faultlab/internal/op"
	"faultlab/internal/shim"
)

// pending is an operation that waits at the gate.
type pending struct {
	*shim.Ticket
	player *player
	seen   op.Op // by the names on disk
	op     op.Op // by canonical names
	asOf   int   // how many changes there had been when it was looked at
}

// gate is one player's side of the play.
type gate struct {
	*play
	player *player
}

// Arrived implements shim.Gate.
func (g *gate) Arrived(t *shim.Ticket) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := g.placed(t.Op)
	if seen.Outside() {
		return false
	}
	if seen.Changes() {
		g.player.did++
	}
	named := g.player.names.Op(seen)
	if matters := g.ledger.note(g.player.index, &seen); !g.wanted(&named, matters) {
		g.player.count.Point(&named)
		if looks(&named) {
			g.news(g.player, &named)
		}
		return false
	}
	g.waiting = append(g.waiting, &pending{t, g.player, seen, named, g.changes})
	g.wake()
	return true
}

// wanted reports whether an operation is a point at which another actor may go
// on: its order matters, or it bounds a critical section.
func (r *Race) wanted(o *op.Op, matters bool) bool {
	switch {
	case r.critical(o):
		return true
	case len(r.Paths) > 0:
		return (matters || r.Full) && slices.ContainsFunc(r.Paths, func(glob string) bool { return onPath(glob, o) })
	}
	return matters || r.Full
}
