//go:build linux

package trial

import (
	"context"
	"errors"
	"sync"
)

// Result is one case, done or not.
type Result struct {
	Case Case
	Run  Run
	// Err is nil, ErrUnreached, or why the experiment did not take place.
	Err error
}

// attempts is how often a case is tried that a signal had disturbed, or whose
// point another thread was too slow to reach.
const attempts = 3

// All does cases, several at once, and hands each to judge, one at a time and in
// the order of the cases whatever order they end in. The cases that judge
// returns are done, too. It stops early when the context ends; the error is then
// the context's, and what was judged stands.
func (r *Runner) All(ctx context.Context, jobs int, cases []Case, judge func(Result) []Case) error {
	return all(ctx, jobs, cases, r.Do, judge)
}

func all(ctx context.Context, jobs int, cases []Case, do func(context.Context, Case) (Run, error), judge func(Result) []Case) error {
	q := newQueue(cases)
	stop := context.AfterFunc(ctx, q.close)
	defer stop()
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for ctx.Err() == nil {
				i, c, ok := q.take()
				if !ok {
					return
				}
				run, err := persist(ctx, c, do)
				q.done(ctx, i, Result{c, run, err}, judge)
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// persist does a case until it has taken place.
func persist(ctx context.Context, c Case, do func(context.Context, Case) (Run, error)) (run Run, err error) {
	err = Persist(ctx, func() (err error) { run, err = do(ctx, c); return err })
	return run, err
}

// Persist does something until it has taken place, but not for ever.
func Persist(ctx context.Context, do func() error) (err error) {
	for range attempts {
		if err = do(); err == nil || ctx.Err() != nil {
			break
		}
	}
	return err
}

// queue hands out cases in order and takes their results in any.
type queue struct {
	mu      sync.Mutex
	more    *sync.Cond
	cases   []Case
	taken   int
	judged  int
	results map[int]Result // done, and waiting for those before them
	closed  bool
}

func newQueue(cases []Case) *queue {
	q := &queue{cases: cases, results: make(map[int]Result)}
	q.more = sync.NewCond(&q.mu)
	return q
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Broadcast()
}

// take waits for a case: a judgement may yield more.
func (q *queue) take() (int, Case, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && q.taken == len(q.cases) && q.judged < q.taken {
		q.more.Wait()
	}
	if q.closed || q.taken == len(q.cases) {
		return 0, Case{}, false
	}
	i := q.taken
	q.taken++
	c := q.cases[i]
	q.cases[i] = Case{} // a long list need not keep what is done
	return i, c, true
}

func (q *queue) done(ctx context.Context, i int, res Result, judge func(Result) []Case) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.more.Broadcast()
	q.results[i] = res
	for {
		next, ok := q.results[q.judged]
		if !ok {
			return
		}
		delete(q.results, q.judged)
		q.judged++
		if ctx.Err() != nil && errors.Is(next.Err, ctx.Err()) {
			continue // interrupted, neither done nor void
		}
		q.cases = append(q.cases, judge(next)...)
	}
}
