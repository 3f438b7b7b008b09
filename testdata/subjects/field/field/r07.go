package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

func init() { subjects["r07"] = r07 }

// r07 takes a lock that is a file, is inside, and gives it back ("run"); or gives it back
// without ever having had it ("unlock"). An old lock is taken over. Bad: giving back is
// to unlink the path. Good: only the very file that was made, and one at a time.
func r07(how string, args []string) int {
	l := &r07Lock{good: how == "good"}
	var err error
	if args[0] == "run" {
		if err := l.guarded(l.take); err != nil {
			return fail(err)
		}
		err = witness()
	}
	if err := errors.Join(err, l.guarded(l.release)); err != nil {
		return fail(err)
	}
	return 0
}

// A r07Lock keeps its file open, so that no other file gets the same inode.
type r07Lock struct {
	good bool
	f    *os.File
}

// guarded makes of a look and what follows from it one step.
func (l *r07Lock) guarded(step func() error) error {
	if !l.good {
		return step()
	}
	guard, err := os.OpenFile("guard", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := syscall.Flock(int(guard.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return step()
}

func (l *r07Lock) take() (err error) {
	if info, err := os.Stat("L"); err == nil && time.Since(info.ModTime()) > 10*time.Second {
		if err := os.Remove("L"); err != nil {
			return err
		}
	}
	l.f, err = os.OpenFile("L", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("L is held")
	}
	return err
}

func (l *r07Lock) release() error {
	if l.good && !l.mine() {
		return errors.New("not released: L is not mine, or not any more")
	}
	return os.Remove("L")
}

func (l *r07Lock) mine() bool {
	if l.f == nil {
		return false
	}
	made, err := l.f.Stat()
	named, errNamed := os.Stat("L")
	return err == nil && errNamed == nil && os.SameFile(made, named)
}
