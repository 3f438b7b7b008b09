package lock

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
)

// Flock is a lock that the kernel holds for this process, and frees when it ends.
type Flock struct {
	path  string
	token string

	mu sync.Mutex
	f  *flockFile // nil: released
}

// AcquireFlock takes the lock, or fails: a *HeldError if somebody has it, an error that Is errors.ErrUnsupported where
// there is no flock. It does not wait.
//
// The file is made if it is missing, and is never removed, by nobody: a process that waits has the file open already, and
// would lock a file that has no name any more while the next one makes and locks another. Against an administrator who
// removes it all the same, the file that was locked is compared with the one that the path names.
//
// The record in the file is for refusals only. It is written after locking, never before: a loser must not damage what
// the winner wrote. While it is written a refusal may know nothing of the holder.
func AcquireFlock(path string, o Options) (*Flock, error) { return acquireFlock(path, o, openFlock) }

func acquireFlock(path string, o Options, open func(path string) (*flockFile, error)) (*Flock, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w (give an absolute path)", path, err)
	}
	for range 10 { // each round means that somebody removed the file just now
		f, err := open(path)
		if err != nil {
			return nil, err
		}
		if !f.named() {
			f.close()
			continue
		}
		return f.describe(o)
	}
	return nil, fmt.Errorf("flock %s: the file is removed again and again: leave it where it is", path)
}

type flockFile struct {
	pin
	path string
}

func (f *flockFile) named() bool {
	named, err := f.names(f.path)
	return named && err == nil
}

// describe writes the record into a file that is locked. On failure the file is emptied and the lock given back.
func (f *flockFile) describe(o Options) (*Flock, error) {
	was := Status{Path: f.path}
	if err := was.read(f.f); err != nil {
		return nil, errors.Join(err, f.close())
	}
	if was.Record.Design == designCreate { // the other design has the path, and its locks are never judged dead
		return nil, errors.Join(&HeldError{Status: was, Clear: o.clear(f.path, was.Token)}, f.close())
	}
	record := newRecord(designFlock, o)
	errs := collect(nil, f.f.Truncate(0))
	if errs == nil {
		_, err := f.f.WriteAt(record.line(), 0)
		errs = collect(errs, err)
	}
	if errs != nil {
		return nil, collect(collect(errs, f.f.Truncate(0)), f.close())
	}
	return &Flock{path: f.path, token: record.Token, f: f}, nil
}

// Path is the absolute path of the lock file.
func (l *Flock) Path() string { return l.path }

// Token names this one acquisition: 32 hexadecimal digits, random.
func (l *Flock) Token() string { return l.token }

// Release gives the lock back, also if it returns an error. The second call does nothing and returns nil.
func (l *Flock) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	errs := collect(nil, l.f.f.Truncate(0)) // first: after the unlock it may be the next one's record
	l.f.unlock()                            // a child between fork and exec still has the descriptor: closing is not enough
	errs = collect(errs, l.f.close())
	l.f = nil
	return errs.ErrorOrNil()
}

// InspectFlock looks at a lock of this design and changes nothing; it does not try the lock, since a look must never make
// somebody else's Acquire fail. So it goes by the record: a holder that is gone holds nothing, whatever the file says.
func InspectFlock(path string) (Status, error) {
	s, err := Inspect(path)
	switch {
	case err != nil:
	case s.State == HalfMade, s.State == Gone, s.State == Zombie, s.State == Reused:
		s = Status{Path: s.Path, State: Free}
	default:
		s.Token = "" // there is nothing to break
	}
	return s, err
}
