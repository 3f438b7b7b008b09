package mutant

import (
	"errors"
	"fmt"
	"os"
)

// pidFile is what most of the mutants make: a file with a number in it, released by its path.
type pidFile struct{ path string }

func (p pidFile) Token() string  { return fmt.Sprint("pid-", os.Getpid()) }
func (p pidFile) Release() error { return os.Remove(p.path) }

// fill writes the pid into f and closes it. It hands up every error and leaves the file where it is.
func (p pidFile) fill(f *os.File) error {
	_, err := fmt.Fprintf(f, "%d\n", os.Getpid())
	return errors.Join(err, f.Sync(), f.Close())
}

// fillOrRemove rolls back, by path: good enough for the mutants that are about something else.
func (p pidFile) fillOrRemove(f *os.File) error {
	err := p.fill(f)
	if err != nil {
		err = errors.Join(err, os.Remove(p.path))
	}
	return err
}
