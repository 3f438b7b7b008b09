//go:build linux

package race

import (
	"context"
	"errors"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// serving is what all that an actor may want of the server (--serve) depends on:
// what is asked changes what the next one is told.
var serving = resource{data, "{server}"}

// listener is the gate of a server: nothing waits at it. What it does in the tree
// is done for those who ask it, and whoever uses the same files is after them or
// before.
type listener struct{ *play }

// Arrived implements shim.Gate.
func (l listener) Arrived(t *shim.Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open {
		return false // it makes ready
	}
	if seen := l.placed(t.Op); !seen.Outside() {
		l.ledger.serve(&seen)
	}
	return false
}

// served is what the server uses, and whether it changes it.
type served map[resource]bool

// serve notes an operation of the server's.
func (l *ledger) serve(o *op.Op) {
	for _, a := range accesses(o, l.alias.of) {
		key := resource{a.aspect, l.key(a.path)}
		if changes, known := l.served[key]; !known || a.changes && !changes {
			l.served[key] = a.changes
			l.more = true
		}
	}
	l.alias.saw(o)
}

// uses is what an actor's operation depends on and changes, with what the server
// has a part in.
func (l *ledger) uses(o *op.Op) []access {
	out := accesses(o, l.alias.of)
	if l.served == nil {
		return out
	}
	if o.Kind == op.Connect {
		return append(out, access{serving, true})
	}
	for _, a := range out {
		if changes, known := l.served[resource{a.aspect, l.key(a.path)}]; known && (changes || a.changes) {
			return append(out, access{serving, a.changes})
		}
	}
	return out
}

// connected reports whether an actor may ask the server without an operation of
// its own: it has an open socket.
func (pl *player) connected() bool { return pl.asked && pl.HasSocket() }

// idle reports whether the server has nothing to do. Where somebody may wait for
// its answer it may wait for a moment itself before it gives it.
func idle(s *trial.Server, asked bool) bool {
	const soon = time.Second
	if s == nil {
		return true
	}
	if asked {
		return s.Idle(soon)
	}
	return s.Idle(0)
}

// rest waits until the server has nothing to do.
func (r *Race) rest(ctx context.Context, s *trial.Server) error {
	if s == nil {
		return nil
	}
	limit := time.NewTimer(r.runner.Timeout())
	defer limit.Stop()
	pause := time.NewTicker(shortest)
	defer pause.Stop()
	for !idle(s, false) || !s.Still() {
		select {
		case <-pause.C:
		case <-limit.C:
			return shim.Voidf("the server (--serve) does not come to rest within %v: it works without being asked", r.runner.Timeout())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// dismiss ends a server, which may be none, and joins what is wrong with it to an
// error.
func dismiss(ctx context.Context, s *trial.Server, err error) error {
	switch {
	case s == nil:
	case err != nil:
		s.Discard(ctx)
	default:
		err = errors.Join(err, s.Stop(ctx))
	}
	return err
}
