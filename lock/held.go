package lock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// State is what can be seen of a lock and its holder. It is for people: nothing in this package acts on it.
type State string

const (
	Free       State = "free"       // no lock
	Alive      State = "alive"      // the process of the record runs
	Gone       State = "gone"       // it does not, or the machine has been restarted since
	Zombie     State = "zombie"     // it has ended, and its parent has not collected it
	Reused     State = "pid reused" // it is gone, and another process has its number
	Elsewhere  State = "other host" // it runs on another machine or in another container: cannot be seen from here
	HalfMade   State = "half-made"  // the record is missing or incomplete: it is being written, or its writer died
	Unreadable State = "unreadable" // not a record of this package, or not even a file
	Unknown    State = "unknown"    // the process cannot be examined on this system
)

// Status is the lock at a path, as Inspect saw it.
type Status struct {
	Path   string // absolute
	State  State
	Record Record // zero if State is Free, HalfMade or Unreadable
	Detail string // what is known beyond the state; one line, may be empty
	// Token is what Break wants: the record's token, or, where no record can be read, the identity of the file that was
	// looked at ("inode:DEV:INO:CTIME_NS:SIZE"). Empty if State is Free, or if no file can be opened at the path.
	Token string
}

// HeldError is the refusal of Acquire: there is a lock at the path. The lock may be gone again by the time it is read.
type HeldError struct {
	Status
	Clear string // the command that clears exactly this lock; empty if none is known
}

// Inspect looks at the lock at path and changes nothing. A missing lock is State Free, without an error. The error is
// that of a file that is there and cannot be read.
func Inspect(path string) (Status, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Status{Path: path}, fmt.Errorf("lock %s: %w (give an absolute path)", path, err)
	}
	s := Status{Path: path, State: Free}
	f, err := openToRead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		s.State, s.Detail = Unreadable, notOpened(err)
		if s.Detail == "" {
			return s, err
		}
		return s, nil
	}
	defer f.Close()
	return s, s.read(f)
}

// read fills in what the open lock file says.
func (s *Status) read(f *os.File) (err error) {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		s.State, s.Detail = Unreadable, "not a regular file"
		return err
	}
	if s.Token, err = identity(f); err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err != nil {
		return err
	}
	record, err := parseRecord(content)
	if err != nil {
		s.State, s.Detail = Unreadable, err.Error()
		if _, ok := err.(halfMade); ok {
			s.State = HalfMade
		}
		return nil
	}
	s.Record, s.Token = record, record.Token
	s.State, s.Detail = judge(record)
	return nil
}

// judge says what is known of the process that wrote r.
func judge(r Record) (State, string) {
	boot := bootID()
	host, _ := os.Hostname()
	switch known := boot != "" && r.Boot != ""; {
	case known && boot != r.Boot && host == r.Host:
		return Gone, "this machine has been restarted since"
	case known && boot != r.Boot, !known && host != r.Host:
		return Elsewhere, ""
	}
	if here := pidSpace(); here != "" && r.PIDSpace != "" && here != r.PIDSpace {
		return Elsewhere, "same machine, another container"
	}
	return judgeProcess(r)
}

func refusal(path string, o Options) error {
	s, err := Inspect(path)
	if err != nil {
		s.Detail = err.Error()
	}
	return &HeldError{Status: s, Clear: o.clear(path, s.Token)}
}

// Error is one line that ends in the command.
func (e *HeldError) Error() string {
	said := e.Status.String() + e.advice()
	if e.Clear == "" {
		return said
	}
	return said + "clear it with: " + e.Clear
}

func (e *HeldError) advice() string {
	switch {
	case e.State == Free:
		return ": run again"
	case e.State == Unreadable && e.Clear == "":
		return ": it is no lock, move it out of the way"
	case e.Clear == "": // held by the kernel
		return ": wait until it ends"
	}
	switch e.State {
	case Alive:
		return ": wait until it ends, or, if it must lose the lock, "
	case Elsewhere, Unknown:
		return ": if you know that it is gone, "
	case HalfMade:
		return ": run again, and if it still says so, "
	}
	return ": "
}

// String is what the status says, on one line.
func (s Status) String() string {
	switch s.State {
	case Free:
		return s.Path + " is free"
	case HalfMade:
		return fmt.Sprintf("%s is half-made (%s): it is being written at this moment, or its writer died", s.Path, s.Detail)
	case Unreadable:
		return fmt.Sprintf("%s is unreadable (%s)", s.Path, s.Detail)
	}
	r := s.Record
	if r.PID == 0 {
		return fmt.Sprintf("%s is held (%s)", s.Path, s.Detail)
	}
	return fmt.Sprintf("%s is held by pid %d on host %s (started %s, locked %s, command %s), %s", s.Path, r.PID,
		printable(r.Host), r.Started.Format(time.RFC3339), r.Acquired.Format(time.RFC3339), printable(r.Command), s.holder())
}

func (s Status) holder() string {
	said := map[State]string{
		Alive:     "which is alive",
		Gone:      "which is gone",
		Zombie:    "which has ended and is a zombie",
		Reused:    "which is gone, its pid now belongs to another process",
		Elsewhere: "which cannot be seen from here",
		Unknown:   "of which nothing is known",
	}[s.State]
	if s.Detail == "" {
		return said
	}
	return said + " (" + printable(s.Detail) + ")"
}

// printable keeps what a record says from moving the cursor of whoever reads the message.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) >= 0 {
		return strconv.Quote(s)
	}
	return s
}
