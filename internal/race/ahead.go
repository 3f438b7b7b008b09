//go:build linux

package race

import (
	"context"
	"fmt"
	"sync"
)

// ahead plays branches that will be asked for soon while one is waited for. What
// is asked for, and in which order, it has no influence on.
type ahead struct {
	race  *Race
	ctx   context.Context
	end   context.CancelFunc
	slots chan struct{}
	mu    sync.Mutex
	done  map[string]*playing
	all   sync.WaitGroup
}

// playing is a branch under way.
type playing struct {
	ready chan struct{}
	outcome
}

// outcome is what a played branch came to.
type outcome struct {
	play      *play
	statuses  []int
	judgement judgement
	fired     map[string]bool // rules
	err       error
}

func newAhead(ctx context.Context, r *Race, jobs int) *ahead {
	ctx, end := context.WithCancel(ctx)
	return &ahead{race: r, ctx: ctx, end: end, slots: make(chan struct{}, jobs), done: make(map[string]*playing)}
}

// stop ends what nobody will ask for any more.
func (a *ahead) stop() {
	a.end()
	a.all.Wait()
}

// play returns what a branch comes to, and begins with those that are likely to
// be asked for next.
func (a *ahead) play(b branch, e *explorer) outcome {
	p := a.begin(b)
	for _, soon := range e.soon(cap(a.slots) - 1) {
		a.begin(soon)
	}
	<-p.ready
	a.mu.Lock()
	delete(a.done, b.key())
	a.mu.Unlock()
	if err := p.err; err != nil && a.ctx.Err() != nil {
		p.err = context.Cause(a.ctx)
	}
	return p.outcome
}

func (a *ahead) begin(b branch) *playing {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.done[b.key()]; p != nil {
		return p
	}
	p := &playing{ready: make(chan struct{})}
	a.done[b.key()] = p
	a.all.Go(func() {
		defer close(p.ready)
		a.slots <- struct{}{}
		defer func() { <-a.slots }()
		p.outcome = a.race.persist(a.ctx, b)
	})
	return p
}

// attempts is how often a schedule is played that a signal had disturbed, or
// that departed.
const attempts = 3

func (r *Race) persist(ctx context.Context, b branch) (o outcome) {
	for range attempts {
		if o = r.once(ctx, &b); o.err == nil || ctx.Err() != nil {
			break
		}
	}
	return o
}

// key names a branch.
func (b branch) key() string { return fmt.Sprint(b.moves) }

// soon lists the branches that would be taken next if no more came.
func (e *explorer) soon(n int) []branch {
	var out []branch
	for _, list := range e.branches {
		for _, b := range list {
			if len(out) == n {
				return out
			}
			out = append(out, b)
		}
	}
	return out
}
