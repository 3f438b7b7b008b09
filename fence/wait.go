package fence

import (
	"context"
	"errors"
	"time"
)

// maxNap bounds a wait for an expiry: the timer does not count a suspend, the
// grantor's clock may.
const maxNap = time.Second

// GrantWait is Grant, but where somebody has the name it waits until the name
// is free or ctx ends, and then returns the *HeldError. Who waits longest is
// not served first.
func (g *Grantor) GrantWait(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error) {
	for {
		// Before the look, so that no release between the two is missed.
		changed := g.watch()
		lease, err := g.Grant(name, holder, ttl)
		var held *HeldError
		if !errors.As(err, &held) {
			return lease, err
		}
		if !g.nap(ctx, changed, held.Lease.Left) {
			return Lease{}, err
		}
	}
}

// nap waits for a change, for the expiry if the clock moves by itself, or for
// the end of ctx, which it reports as false.
func (g *Grantor) nap(ctx context.Context, changed <-chan struct{}, left time.Duration) bool {
	var expiry <-chan time.Time
	if g.clock.Era() != virtualEra {
		t := time.NewTimer(min(left, maxNap))
		defer t.Stop()
		expiry = t.C
	}
	select {
	case <-changed:
	case <-expiry:
	case <-ctx.Done():
		return false
	}
	return ctx.Err() == nil
}

func (g *Grantor) watch() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *Grantor) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed != nil {
		close(g.changed)
		g.changed = make(chan struct{})
	}
}
