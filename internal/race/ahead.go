//go:build linux

package race

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"faultlab/internal/trial"
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

// task is one order that is to be played.
type task struct {
	key      string
	anew     bool            // it was counted before
	director func() director // a new one for each try
}

func (b branch) task() task {
	return task{fmt.Sprint("branch ", b.key()), b.self != nil, func() director { return &b }}
}

// play returns what an order comes to, and begins with those that are likely to
// be asked for next.
func (a *ahead) play(t task, soon []task) outcome {
	p := a.begin(t)
	for _, next := range soon {
		a.begin(next)
	}
	<-p.ready
	a.mu.Lock()
	delete(a.done, t.key)
	a.mu.Unlock()
	if err := p.err; err != nil && a.ctx.Err() != nil {
		p.err = context.Cause(a.ctx)
	}
	return p.outcome
}

func (a *ahead) begin(t task) *playing {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.done[t.key]; p != nil {
		return p
	}
	p := &playing{ready: make(chan struct{})}
	a.done[t.key] = p
	a.all.Go(func() {
		defer close(p.ready)
		a.slots <- struct{}{}
		defer func() { <-a.slots }()
		p.outcome = a.race.persist(a.ctx, t)
	})
	return p
}

// patience is how many departed orders are given time. A program that never does the
// same again would take seconds for each.
const patience = 16

// persist plays a schedule again that a signal had disturbed, or that departed: that
// one later, for what comes of the time comes again within the second.
func (r *Race) persist(ctx context.Context, t task) (o outcome) {
	_ = trial.Persist(ctx, func() error {
		if errors.Is(o.err, errDeparted) && r.departed.Load() < patience {
			if err := later(ctx, time.Now()); err != nil {
				return err
			}
		}
		o = r.once(ctx, t.director())
		if errors.As(o.err, new(endless)) {
			return nil
		}
		return o.err
	})
	return o
}

// soon lists the branches that would be taken next if no more came.
func (e *explorer) soon(n int) []task {
	var out []task
	for _, list := range e.branches {
		for _, b := range list {
			if len(out) == n {
				return out
			}
			out = append(out, b.task())
		}
	}
	return out
}
