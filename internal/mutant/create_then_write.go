package mutant

import (
	"errors"
	"io/fs"
	"os"

	"faultlab/lock"
)

// createThenWrite creates the lock file exclusively and writes the pid in a second step. A crash between the two leaves
// an empty file, so an empty file is taken for what a crash left, and removed.
//
// Mechanism: a contender that looks between create and write removes the lock of a holder that lives, and both are in.
// Seen in pid-file code that "recovers" from empty files. An empty lock is being written, or its writer died: nobody can
// tell which, so the fix is to refuse it.
var createThenWrite = Design{
	Name:     "create-then-write",
	About:    "an empty lock reads as stale and is removed, though its holder may be about to write",
	Acquire:  acquireCreateThenWrite,
	Register: atExit,
	Fix: `
-		if errors.Is(err, fs.ErrExist) && empty(path) {
-			_ = os.Remove(path)
-			continue
-		}
`}

func acquireCreateThenWrite(path string, o lock.Options) (Held, error) {
	for range 3 {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			l := pidFile{path}
			return held(l, l.fillOrRemove(f))
		}
		if errors.Is(err, fs.ErrExist) && empty(path) {
			_ = os.Remove(path)
			continue
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		break
	}
	return nil, refused(path, o)
}

func empty(path string) bool {
	content, err := os.ReadFile(path)
	return err == nil && len(content) == 0
}
