package mutant

import (
	"errors"
	"io/fs"
	"os"

	"faultlab/lock"
)

// noRollback acquires as it should, and when the record cannot be written it says so, and leaves the file where it is.
//
// Mechanism: on a full disk creating the file succeeds and writing to it does not. The run fails rightly, and so does
// every later one, long after there is space again: the lock is there. The fix is to remove it, and to say so if that
// fails too. (The real design removes only what is still its own: device and inode, not the name.)
var noRollback = Design{
	Name:     "no-rollback",
	About:    "a record that cannot be written leaves its lock behind",
	Acquire:  acquireNoRollback,
	Register: atExit,
	Fix: `
-	return held(l, l.fill(f))
+	return held(l, l.fillOrRemove(f))
`}

func acquireNoRollback(path string, o lock.Options) (Held, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, refused(path, o)
	}
	if err != nil {
		return nil, err
	}
	l := pidFile{path}
	return held(l, l.fill(f))
}
