package exit

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"
)

const soon = 20 * time.Millisecond // a limit that is meant to be overrun

func TestHooksRunOnceLastFirst(t *testing.T) {
	t.Parallel()
	r := newRegistry(Limit)
	var ran []int
	for i := range 4 {
		cancel := r.register(func() error { ran = append(ran, i); return nil })
		if i == 2 {
			cancel()
			cancel()
		}
	}
	_, first := r.run()
	_, again := r.run()
	if !slices.Equal(ran, []int{3, 1, 0}) || !first || again {
		t.Errorf("ran %v, first %v, again %v", ran, first, again)
	}
}

func TestEveryErrorIsHandedUp(t *testing.T) {
	t.Parallel()
	r := newRegistry(soon)
	ran := false
	r.register(func() error { ran = true; return nil })
	r.register(func() error { return errors.New("unlink a: no space") })
	r.register(func() error { panic("boom") })
	r.register(func() error { runtime.Goexit(); return nil })
	r.register(func() error { select {} })
	err, _ := r.run()
	var many *multierror.Error
	if !errors.As(err, &many) || len(many.Errors) != 4 || !ran {
		t.Fatalf("ran %v, got %v", ran, err)
	}
	for i, want := range []string{"still running after 20ms", "runtime.Goexit", "panicked: boom", "unlink a: no space"} {
		if got := many.Errors[i].Error(); !strings.Contains(got, want) {
			t.Errorf("error %d: %q lacks %q", i, got, want)
		}
	}
}

func TestNothingIsReleasedUnderARunningStep(t *testing.T) {
	t.Parallel()
	r := newRegistry(soon)
	r.register(func() error { t.Error("released under the step"); return nil })
	inside, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	go func() { _ = r.do(func() error { close(inside); <-end; return nil }) }()
	<-inside
	if err, _ := r.run(); err == nil || !strings.Contains(err.Error(), "step is still running") {
		t.Errorf("got %v", err)
	}
}

func TestStepsAreWaitedForAndThenRefused(t *testing.T) {
	t.Parallel()
	r := newRegistry(Limit)
	var order []string
	inside := make(chan struct{})
	go func() {
		_ = r.do(func() error {
			close(inside)
			for r.do(func() error { return nil }) == nil {
				runtime.Gosched()
			}
			order = append(order, "step")
			r.register(func() error { order = append(order, "hook"); return nil })
			return nil
		})
	}()
	<-inside
	err, _ := r.run()
	if err != nil || !slices.Equal(order, []string{"step", "hook"}) {
		t.Errorf("order %v, %v", order, err)
	}
	if err := r.do(func() error { t.Error("started"); return nil }); !errors.Is(err, ErrExiting) {
		t.Errorf("got %v, want ErrExiting", err)
	}
}

func TestLateHookRunsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRegistry(Limit)
	_, _ = r.run()
	ran := false
	r.register(func() error { ran = true; return nil })
	if !ran {
		t.Error("what was taken after the exit would never be given back")
	}
}

func TestHookOfAHook(t *testing.T) {
	t.Parallel()
	r := newRegistry(Limit)
	ran := false
	r.register(func() error {
		r.register(func() error { ran = true; return nil })
		return nil
	})
	if _, _ = r.run(); !ran {
		t.Error("a hook that a hook registered did not run")
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	var many *multierror.Error
	many = multierror.Append(many, errors.New("a"), fmt.Errorf("while b: %w", multierror.Append(nil, errors.New("c"))))
	report(&out, many)
	if lines := out.String(); !strings.HasPrefix(lines, "exit: a\nexit: while b: ") {
		t.Errorf("%q", lines)
	}
}
