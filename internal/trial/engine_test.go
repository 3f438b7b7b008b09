//go:build linux

package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// fake does cases without a process: fast, and out of order on purpose.
func fake(do func(c Case) (Run, error)) *queueOf { return &queueOf{do: do} }

type queueOf struct {
	do   func(Case) (Run, error)
	seen []string
}

func (f *queueOf) all(ctx context.Context, jobs int, cases []Case, more func(Result) []Case) error {
	return all(ctx, jobs, cases, func(_ context.Context, c Case) (Run, error) { return f.do(c) }, func(r Result) []Case {
		f.seen = append(f.seen, r.Case.Choice)
		return more(r)
	})
}

func numbered(n int) []Case {
	var cases []Case
	for i := range n {
		cases = append(cases, Case{Choice: fmt.Sprint(i)})
	}
	return cases
}

func none(Result) []Case { return nil }

// Results come in the order of the cases, though each case here ends only after
// the one behind it.
func TestAllKeepsOrder(t *testing.T) {
	t.Parallel()
	ended := make([]chan struct{}, 7)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	close(ended[6])
	f := fake(func(c Case) (Run, error) {
		var i int
		fmt.Sscan(c.Choice, &i)
		if i%2 == 0 {
			<-ended[i+1] // its neighbour's end
		}
		if i > 0 && i%2 == 1 {
			close(ended[i])
		}
		return Run{}, nil
	})
	if err := f.all(t.Context(), 2, numbered(6), none); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(f.seen, want) {
		t.Errorf("%q, not %q", f.seen, want)
	}
}

// What a judgement yields is done, too, also where everything else has ended.
func TestAllIsAdaptive(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{1, 4} {
		f := fake(func(Case) (Run, error) { return Run{}, nil })
		err := f.all(t.Context(), jobs, numbered(2), func(r Result) []Case {
			if len(r.Case.Choice) < 3 {
				return []Case{{Choice: r.Case.Choice + "a"}, {Choice: r.Case.Choice + "b"}}
			}
			return nil
		})
		want := []string{"0", "1", "0a", "0b", "1a", "1b", "0aa", "0ab", "0ba", "0bb", "1aa", "1ab", "1ba", "1bb"}
		if err != nil || !slices.Equal(f.seen, want) {
			t.Errorf("%d jobs: %q, %v", jobs, f.seen, err)
		}
	}
}

// An interruption ends it at once. What was done stands, and what was under way
// is neither done nor void.
func TestAllInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	f := fake(func(c Case) (Run, error) {
		if c.Choice == "3" {
			interrupt()
			return Run{}, ctx.Err()
		}
		return Run{}, nil
	})
	err := f.all(ctx, 1, numbered(100), none)
	if !errors.Is(err, context.Canceled) || !slices.Equal(f.seen, []string{"0", "1", "2"}) {
		t.Errorf("%q, %v", f.seen, err)
	}
}

// A case that a signal had disturbed is tried again; one that never takes place
// is handed on with its error.
func TestAllRetries(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tries := make(map[string]int)
	f := fake(func(c Case) (Run, error) {
		mu.Lock()
		defer mu.Unlock()
		tries[c.Choice]++
		if c.Choice == "1" && tries["1"] < attempts {
			return Run{}, errors.New("disturbed")
		}
		if c.Choice == "2" {
			return Run{}, ErrUnreached
		}
		return Run{}, nil
	})
	var errs []error
	err := f.all(t.Context(), 2, numbered(4), func(r Result) []Case { errs = append(errs, r.Err); return nil })
	if err != nil || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], ErrUnreached) || errs[3] != nil {
		t.Errorf("%v, %v", errs, err)
	}
	if tries["0"] != 1 || tries["1"] != attempts || tries["2"] != attempts {
		t.Errorf("tries: %v", tries)
	}
}

// The queue keeps nothing of what is done: of a long list only the choices that
// wait.
func TestAllForgets(t *testing.T) {
	t.Parallel()
	const many = 10_000
	q := newQueue(numbered(many))
	for i := range many {
		at, c, ok := q.take()
		if !ok || at != i || c.Choice == "" {
			t.Fatalf("take %d: %d %v %v", i, at, c, ok)
		}
		q.done(t.Context(), at, Result{Case: c}, none)
		if len(q.results) > 0 || q.cases[at].Choice != "" {
			t.Fatalf("after %d: keeps %d results, case %q", i, len(q.results), q.cases[at].Choice)
		}
	}
	if _, _, ok := q.take(); ok {
		t.Error("takes more than there is")
	}
}
