package shim

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// Decider says what is done to an operation. It is asked once for each, in the
// order in which the kernel delivered them, from one thread; a nil rule lets
// the operation go on. *rule.Matcher is one.
type Decider interface {
	Decide(o *op.Op) (rule.Action, *rule.Rule)
}

// Observer is told of each operation, after it was decided and, where a rule
// fired, after its result is known. Calls come one at a time. The operation is
// the observer's to read only until it returns.
type Observer interface {
	Saw(o *op.Op, r Result)
}

// Result is what the supervisor knows of an operation's outcome. Operations
// that it lets go on have none: their result is the subject's own.
type Result struct {
	Rule  *rule.Rule // nil: none fired
	Known bool
	Value int64         // what the call returned, where it did not fail
	Errno syscall.Errno // 0: it did not fail
}

// Command is a program to run under the shim.
type Command struct {
	Path     string   // of the executable, resolved by the caller
	Args     []string // as the program sees them, its own name first
	Env      []string
	Dir      string // working directory; empty: the supervisor's own
	Stdin    *os.File
	Stdout   *os.File
	Stderr   *os.File
	Terminal *Terminal // nil, or Stdin as a terminal that it gets
}

// Config says what of the subject is seen, and who decides.
type Config struct {
	Tree  string   // directory whose operations count; it must exist
	Actor byte     // 'A' where there is only one
	Calls []string // system calls to trap; the others cost nothing and are not seen
	// OpenWrites traps the opens that can write even where Calls names no open.
	// Opens for reading then cost nothing and are not seen, but for openat2,
	// whose flags lie in memory.
	OpenWrites bool
	// Decider may be nil: then the run is only watched, and what disturbed it
	// is a note.
	Decider  Decider
	Observer Observer // may be nil
	Gate     Gate     // may be nil; it is asked before the Decider
	Outside  bool     // show operations outside the tree too
	Names    bool     // fill in op.Proc and op.Script, at the price of two more look-ups
	// Recording, where it is set, takes down all changes. Calls must hold
	// RecordCalls then, OpenWrites be set, and standard output be a file.
	Recording *Recording
	// Clock is by how much the subject's wall clock goes ahead of the real one.
	Clock time.Duration
	// Mark is a NAME=VALUE in the subject's environment that no other run of
	// this supervisor has. By it a process that left its family and its process
	// group, and called nothing, is still known as this run's while several
	// runs go on. Empty: none.
	Mark string
}

// Exit is how a subject's first process ended.
type Exit struct {
	Code   int            // where it exited
	Signal syscall.Signal // 0, or what ended it
	ByRule bool           // a kill rule ended it
	Late   bool           // it did not end in time, and was ended; the run is void
	// Orphans are processes that outlived the first one beyond the grace and
	// were ended: "PID NAME".
	Orphans []string
	// Restarted counts calls that a signal broke off before the supervisor had
	// them, and that were begun again.
	Restarted int
	// Notes are reasons for doubt that do not void the run: files and
	// programs that could be changed unseen.
	Notes []string
}

// Status is the exit status that a shell would show.
func (e Exit) Status() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return e.Code
}

// Void says that the experiment did not take place: it is no pass and no
// finding.
type Void struct{ Reasons []string }

func (v *Void) Error() string { return strings.Join(v.Reasons, "; ") }

// IsVoid reports whether err says that the experiment did not take place.
func IsVoid(err error) bool {
	var v *Void
	return errors.As(err, &v)
}

// Voidf is a Void of one reason.
func Voidf(format string, args ...any) error {
	return &Void{[]string{fmt.Sprintf(format, args...)}}
}
