package mutant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"faultlab/lock"
)

// unlinkFlock takes a kernel-held flock, and tidies up: the file is removed on release.
//
// Mechanism: a contender has the file open when the holder removes its name. It then locks a file without a name, while
// the next one makes the name anew and locks that. Both are in. The fix is to let the file stay. (The real design also
// compares, after locking, what it locked with what the path names, and starts over if they differ.)
var unlinkFlock = Design{
	Name:     "unlink-flock",
	About:    "the flock'ed file is removed on release, and nobody compares what he locked with what the path names",
	Acquire:  acquireUnlinkFlock,
	Register: atExit,
	Fix: `
-	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
+	return l.f.Close()
`}

type unlinkedFlock struct{ f *os.File }

func (l unlinkedFlock) Token() string { return pidFile{}.Token() }

func (l unlinkedFlock) Release() error {
	return errors.Join(os.Remove(l.f.Name()), l.f.Close())
}

func acquireUnlinkFlock(path string, o lock.Options) (Held, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	switch err := tryFlock(f); {
	case errors.Is(err, errHeld):
		return nil, errors.Join(refused(path, o), f.Close())
	case err != nil:
		return nil, errors.Join(&fs.PathError{Op: "flock", Path: path, Err: err}, f.Close())
	}
	l := unlinkedFlock{f}
	if _, err := f.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0); err != nil {
		return nil, errors.Join(err, l.Release())
	}
	return l, nil
}
