//go:build linux

// Package trial runs experiments: one subject, or several, in a private copy of
// a tree, under the shim, then the next run and the user's check, and says what
// each has left. Sweep, place, race and crash stand on it.
//
//	Spec      what is run, on which tree                               spec
//	Runner    owns the scratch space and does one Case at a time,
//	          as often in parallel as there are jobs                   runner
//	subject   one program about to run in a copy                       subject
//	Start     how a subject comes to life                              start
//	State     what a crash has left, in place of the subject's run     state
//	Stage     a copy on which several actors run                       stage
//	Server    the helper that the actors of a stage ask                serve
//	Controls  what runs without a fault show: the reference            control
//	unfit     why the user's check is no oracle                        unfit
//	Names     makes names that vary comparable                         names
//	sentry    sees every change, keeps the user's files out of reach   sentry
//	watchdog  ends what would eat the machine                          watchdog
//	memo      what followed a state, for the next case that leaves it  memo
//	All       does many cases and judges each                          engine
//	Log       what cases came to, and the report of it                 log
//	Ignoring  the --ignore for a path, whatever varies in it           ignore
package trial

import (
	"time"

	"faultlab/internal/record"
	"faultlab/internal/rule"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
)

// Spec is what the user wants looked at. The same for every case.
type Spec struct {
	Tree    string   // directory to start from, copied; "" starts empty
	Program string   // absolute path of the executable
	Args    []string // its own name first; "{tree}" stands for the copy
	// Setup, Next and Check are shell commands; "" is none. Without a
	// Next the next run is the program itself.
	Setup, Next, Check string
	// Serve is a shell command that runs beside the actors of each stage.
	Serve string

	Allow   []string // absolute paths outside the tree that may be changed
	Ignore  []string // globs of paths whose differences do not count
	Timeout time.Duration
	Jobs    int // cases at once
}

// Case is one experiment: what it does differently from the control.
type Case struct {
	Choice string // as --only takes it
	Rules  []rule.Rule
	Start  Start
	// Watch lists further system calls that are to be seen.
	Watch []string
	// State, where it is set, is what a crash has left: the subject does not run.
	State *State
	// Record, where it is set, takes down the subject's run, or the next one where
	// a state stands in for the subject; it is the last that is made.
	Record *record.Record
}

// Run is what one case has shown.
type Run struct {
	Subject Outcome
	// Done says that the subject had ended with success before a crash.
	Done  bool
	Next  Outcome // of the next run
	Check Outcome
	// Tree is what the subject left, After what stood there after the next run,
	// both against the base and by canonical names.
	Tree, After tree.Delta
	Names       []string // the paths in Tree, as they are on disk
	Ops         []Step   // the subject's operations, as far as they were watched
	SyncLost    string   // a file whose failed sync was passed over, or ""
	Stuck       []string // canonical names that the experiment kept it from removing
}

// Outcome is how a program ended.
type Outcome struct {
	shim.Exit
	Ran            bool
	Hang           string   // why it was ended, or ""
	Outside        []string // paths outside that it tried to change; none was
	Stdout, Stderr string   // as far as they are kept
	Cut            bool     // more was printed than that
}

// Text is all that the program printed.
func (o Outcome) Text() string { return o.Stderr + o.Stdout }
