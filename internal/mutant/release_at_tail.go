package mutant

import "faultlab/lock"

// releaseAtTail acquires as the real design does. Giving back is the last statement of the run, and nothing else.
//
// Mechanism: a step that fails returns before the last statement; os.Exit, a panic and a signal never reach it. The next
// run is refused by a lock whose holder ended in good order. The fix is to register the release when the lock is taken.
var releaseAtTail = Design{
	Name:    "release-at-tail",
	About:   "the release is the last statement: skipped by a failing step, os.Exit, panic and signals",
	Acquire: func(path string, o lock.Options) (Held, error) { return held(lock.Acquire(path, o)) },
	Register: func(func() error) (forget func()) {
		return func() {}
	},
	Fix: `
-	Register: func(func() error) (forget func()) {
-		return func() {}
-	},
+	Register: atExit,
`}
