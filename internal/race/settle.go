//go:build linux

package race

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Between two looks.
const shortest, longest = 100 * time.Microsecond, 2 * time.Millisecond

// settle waits until nothing moves any more: every actor waits at the gate, for
// another one, or has ended, and the server has nothing to do. How long that takes decides nothing.
func (p *play) settle() error {
	pause := time.NewTimer(longest)
	defer pause.Stop()
	late := time.NewTimer(p.runner.Timeout())
	defer late.Stop()
	for wait := shortest; ; wait = min(2*wait, longest) {
		select {
		case <-p.arrived: // mostly the very next operation
		case <-pause.C:
		case <-late.C:
			return errLate
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
		if p.quiet() {
			p.bury()
			return nil
		}
		pause.Reset(wait)
	}
}

var errLate = errors.New("an actor goes on and on")

// late says who does not come to rest.
func (p *play) late() string {
	for _, pl := range p.actors {
		if !pl.HasEnded() && !p.waits(pl) {
			return fmt.Sprintf("%c neither ends nor comes to its next operation within %v", pl.letter, p.runner.Timeout())
		}
	}
	if !idle(p.server, false) {
		return fmt.Sprintf("the server (--serve) does not come to rest within %v", p.runner.Timeout())
	}
	return fmt.Sprintf("the actors do not come to rest within %v", p.runner.Timeout())
}

func (p *play) quiet() bool {
	held := make(map[int]bool)
	p.mu.Lock()
	for _, w := range p.waiting {
		held[w.Op.Tid] = true
	}
	p.mu.Unlock()
	asks := false
	for _, pl := range p.actors {
		if !pl.Quiet(held) {
			return false
		}
		asks = asks || !pl.HasEnded() && !p.waits(pl)
	}
	if !idle(p.server, asks) || !p.still() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(held) == len(p.waiting)
}

// bury has those who have ended be gone for whoever looks for their processes.
func (p *play) bury() {
	for _, pl := range p.actors {
		if pl.HasEnded() && !pl.buried {
			pl.buried = true
			pl.Bury()
		}
	}
}

// still reports whether nobody has been woken by one that was looked at after him.
func (p *play) still() bool {
	for _, pl := range p.actors {
		if !pl.Still() {
			return false
		}
	}
	return p.server == nil || p.server.Still()
}

// waits reports whether an actor waits at the gate.
func (p *play) waits(pl *player) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.waiting, func(w *pending) bool { return w.player == pl })
}
