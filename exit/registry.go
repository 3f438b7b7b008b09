package exit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
)

// Limit is how long an exit waits for the steps that are under way, and then for each hook. It is longer than package lock
// waits for a flock, so that a release that has to give up can still say why.
const Limit = 15 * time.Second

// ErrExiting is returned by Do once an exit has begun: nothing was started. Return it up to main; the exit that has
// begun ends the process.
var ErrExiting = errors.New("the process is ending: nothing new is started")

// A registry holds the hooks and steps of a process. There is one, std; tests make their own.
type registry struct {
	limit time.Duration

	mu      sync.Mutex
	hooks   []*hook
	steps   int           // Do calls that have begun and not ended
	exiting bool          // from here on, Do refuses
	idle    chan struct{} // closed when exiting and steps == 0
	done    chan struct{} // closed when the hooks have run
	err     error         // what they said; read after done
}

type hook struct{ run func() error }

func newRegistry(limit time.Duration) *registry {
	return &registry{limit: limit, idle: make(chan struct{}), done: make(chan struct{})}
}

func (r *registry) register(f func() error) (cancel func()) {
	h := &hook{f}
	r.mu.Lock()
	late := r.exiting && r.steps == 0
	if !late {
		r.hooks = append(r.hooks, h)
	}
	r.mu.Unlock()
	if late {
		// What f gives back was taken outside a step, after the hooks had begun: nobody else will ever run it.
		report(os.Stderr, r.bounded(f))
	}
	return func() { r.cancel(h) }
}

func (r *registry) cancel(h *hook) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, have := range r.hooks {
		if have == h {
			r.hooks = append(r.hooks[:i], r.hooks[i+1:]...)
			return
		}
	}
}

func (r *registry) do(step func() error) error {
	r.mu.Lock()
	if r.exiting {
		r.mu.Unlock()
		return ErrExiting
	}
	r.steps++
	r.mu.Unlock()
	defer r.ended() // deferred: a step that panics has ended too, and the panic's own exit would wait for it
	return step()
}

func (r *registry) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps--
	if r.exiting && r.steps == 0 {
		close(r.idle)
	}
}

// run runs the hooks once. Whoever comes first does it and is told so; the others wait until it is done.
func (r *registry) run() (err error, first bool) {
	r.mu.Lock()
	first = !r.exiting
	if first {
		r.exiting = true
		if r.steps == 0 {
			close(r.idle)
		}
	}
	r.mu.Unlock()
	if first {
		r.err = r.drain()
		close(r.done)
	}
	<-r.done
	return r.err, first
}

func (r *registry) drain() error {
	select {
	case <-r.idle:
	case <-time.After(r.limit):
		return fmt.Errorf("a step is still running after %v: nothing was released, so that it stays covered", r.limit)
	}
	var errs *multierror.Error
	for h := r.pop(); h != nil; h = r.pop() {
		errs = multierror.Append(errs, r.bounded(h.run))
	}
	return errs.ErrorOrNil()
}

// pop takes the newest hook off, so that a hook which registers another one has it run too.
func (r *registry) pop() *hook {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.hooks)
	if n == 0 {
		return nil
	}
	h := r.hooks[n-1]
	r.hooks = r.hooks[:n-1]
	return h
}

// bounded runs one hook. Its panic becomes an error: one hook must not keep the others from running.
func (r *registry) bounded(f func() error) error {
	result := make(chan error, 1)
	go func() {
		err := errors.New("a release hook called runtime.Goexit")
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("a release hook panicked: %v", p)
			}
			result <- err
		}()
		err = f()
	}()
	select {
	case err := <-result:
		return err
	case <-time.After(r.limit):
		return fmt.Errorf("a release hook is still running after %v: gave up on it", r.limit)
	}
}
