package exit

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/go-multierror"
)

var std = newRegistry(Limit)

// Register adds a hook that gives something back, and returns the function that takes the hook out again. The hook runs
// at most once, on every way out that the exit matrix marks `run`; the last registered runs first.
//
// Register where the thing is taken, inside the same Do: between taking and registering lies a signal.
// A hook must not call Now, Run or Do, and should be safe to call beside the ordinary release (lock.Release is).
func Register(f func() error) (cancel func()) {
	watchSignals()
	return std.register(f)
}

// Do runs a step that no exit may cut in two: an exit that begins meanwhile waits for it (at most Limit) before any hook
// runs, and once an exit has begun Do returns ErrExiting without calling step. Otherwise it returns what step returns.
//
// Two kinds of step want this: taking something together with registering its hook, and every change that is made under
// a lock, since hooks run beside the other goroutines: without Do a signal would release the lock under a running write.
// A step must not call Now or Run: the exit would wait for the step, and the step for the exit. It returns an error.
func Do(step func() error) error {
	watchSignals()
	return std.do(step)
}

// Run runs the hooks, once, and returns their errors together (go-multierror), after reporting them on standard error.
// It is for `defer exit.Run()` in a main that does not use Main. A second call waits for the first and returns the same.
func Run() error {
	err, _ := runReported()
	return err
}

// Main runs f as the body of main, then the hooks, and ends the process with f's status; with 1 if that was 0 and a hook
// failed. A panic in f goes on after the hooks: trace and status 2 are Go's own. It does not return.
func Main(f func() int) {
	watchSignals()
	returned := false
	code := 0
	defer func() {
		p := recover()
		switch {
		case p != nil:
			leave(func() { panic(p) }) // here, and not after returning: the trace still shows where it began
		case !returned:
			fmt.Fprintln(os.Stderr, "exit: runtime.Goexit ended the main goroutine")
			code = 2 // what the runtime itself gives when main is gone and nothing else runs
		}
		leave(func() { os.Exit(failed(code)) })
	}()
	code = f()
	returned = true
}

// Now runs the hooks and ends the process: os.Exit for programs that hold something. The status is code, or 1 if code
// is 0 and a hook failed. It does not return. Do not call it inside Do.
func Now(code int) {
	leave(func() { os.Exit(failed(code)) })
}

// Go starts a goroutine in which a panic runs the hooks before it ends the process, trace and status 2 kept.
// With a plain `go`, it would end the process without.
func Go(f func()) {
	watchSignals()
	go func() {
		defer func() {
			if p := recover(); p != nil {
				leave(func() { panic(p) })
			}
		}()
		f()
	}()
}

// leave runs the hooks and then end. If another way out was first, it is that one's to end the process, and its status
// that counts; should it not (a deferred Run in a main that goes on), end is called after all.
func leave(end func()) {
	if _, first := runReported(); !first {
		time.Sleep(Limit)
	}
	end()
}

func runReported() (err error, first bool) {
	err, first = std.run()
	if first {
		report(os.Stderr, err)
	}
	return err, first
}

// failed is the status of a process that wanted to end with code: success is not claimed for what was left behind.
func failed(code int) int {
	if err, _ := std.run(); err != nil && code == 0 {
		return 1
	}
	return code
}

// report writes one line for each cause in err.
func report(w io.Writer, err error) {
	switch err := err.(type) {
	case nil:
	case *multierror.Error: // exactly this: a wrapper has words of its own, which must not be lost
		for _, one := range err.Errors {
			report(w, one)
		}
	default:
		fmt.Fprintf(w, "exit: %v\n", err)
	}
}
