// Package exit runs release hooks once, however the process ends.
//
// A lock file does not heal itself: whatever leaves it behind wedges every later run. So the release is registered in the
// moment the lock is taken, and this package runs it on every way out that a Go program can see. The idea is that of C's
// atexit(3) and of Python's atexit, with the ways out added that those two miss: signals, panics, and panics elsewhere.
//
//	func main() {
//		exit.Main(func() int {
//			err := exit.Do(func() error {           // taking and registering are one step
//				l, err := lock.Acquire(path, lock.Options{})
//				if err == nil {
//					exit.Register(l.Release)
//				}
//				return err
//			})
//			...
//			return 0
//		})
//	}
//
// # The exit matrix
//
//	how the process ends                         hooks  status   note
//	return from the function given to Main       run    its own  1 if it was 0 and a hook failed
//	an error that is returned up to Main         run    its own
//	return from main, with `defer exit.Run()`    run    0
//	exit.Now(code)                               run    code     1 if it was 0 and a hook failed
//	panic in the function given to Main          run    2        the trace is kept
//	panic in a goroutine started by exit.Go      run    2        the trace is kept
//	runtime.Goexit in the function given to Main run    2        one line says so; without Main it would hang
//	SIGINT, SIGTERM, SIGHUP, SIGQUIT             run    128+n    re-raised: the parent sees a death by signal
//	os.Exit, syscall.Exit                        LEAK   code     use exit.Now
//	log.Fatal, log.Fatalf                        LEAK   1        it is os.Exit
//	panic in a goroutine started by `go`         LEAK   2        use exit.Go
//	fatal error (throw)                          LEAK   2        stack overflow, concurrent map writes, out of memory
//	SIGKILL, SIGSTOP and then SIGKILL, OOM kill  LEAK   128+9
//	SIGSEGV, SIGBUS, SIGABRT from outside        LEAK   2
//	power cut                                    LEAK
//	syscall.Exec                                 LEAK            another program, with the same pid
//
// LEAK rows cannot be closed from inside the process. What they leave must be legible, and an operator must be able to
// clear it: see package lock.
//
// # What happens, in this order
//
//  1. New steps (Do) are refused with ErrExiting, so that nothing begins to change what the hooks are about to give back.
//  2. Steps that have begun are waited for, at most Limit. If one does not end, no hook runs: a lock that stays is a
//     nuisance, a lock that is given away while its holder still writes is damage.
//  3. The hooks run, the last registered first, each at most Limit. A hook that fails, panics or overruns does not keep
//     the others from running.
//  4. Errors are collected (go-multierror) and reported on standard error, one line a cause.
//  5. The process ends in the way that was asked for.
//
// # Decisions
//
// A second signal while hooks run changes nothing. A terminal and a supervisor often deliver the same signal twice within
// a millisecond; taking the second one for impatience would leak exactly when it matters. The wait is bounded anyway, and
// SIGKILL is there for the impatient.
//
// A signal that is ignored when the program starts (nohup) stays ignored.
//
// SIGQUIT prints the goroutines, as Go does by default, after the hooks have run.
//
// SIGPIPE does not end the process: a write to a standard output that nobody reads any more returns EPIPE, so that
// `worker run | head -1` takes the ordinary way out.
//
// Hooks belong to this process. A child that it starts inherits none.
package exit
