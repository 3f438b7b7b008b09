// Package report holds what experiments have found, and renders it: as text, as
// JSON, as JUnit XML and as one page of HTML. It is pure but for the writer that
// it is given.
package report

// SchemaVersion is the version of the JSON that Report marshals to; it changes
// when a reader of the old one would be misled.
const SchemaVersion = 1

// Report is the outcome of one experiment, or of several in an audit.
type Report struct {
	Version    int    `json:"version"`
	Experiment string `json:"experiment"` // sweep, place, race, crash, audit
	// Command is the line that made this report, quoted for a shell.
	Command  string         `json:"command"`
	Coverage Coverage       `json:"coverage"`
	Summary  map[string]int `json:"summary"`         // by verdict, findings and others: Tally
	Findings []Finding      `json:"findings"`        // worst first: Group; an audit's are those of all its parts
	Notes    []string       `json:"notes,omitempty"` // doubts: files that could change unseen …
	// Trials are all experiments; in JSON only with --all.
	Trials []Trial `json:"trials,omitempty"`
	// Parts are the reports of an audit, each an experiment of its own: Audit.
	Parts []Report `json:"parts,omitempty"`
}

// Coverage says how much was looked at.
type Coverage struct {
	Points    int `json:"points"`    // operations at which something was tried
	Planned   int `json:"planned"`   // experiments
	Ran       int `json:"ran"`       // … that came to a verdict
	Void      int `json:"void"`      // … that did not take place
	Unreached int `json:"unreached"` // … whose point did not come in their run
	// Complete: nothing was planned that did not run, or left out for being too many.
	Complete bool `json:"complete"`
	// Scope says in the experiment's own words what was covered: "all 134
	// schedules with at most 2 preemptions".
	Scope string `json:"scope,omitempty"`
	// Why is the reason for what is not complete: "interrupted", or the first
	// void experiment's.
	Why string `json:"why,omitempty"`
}

// Finding is one cause, with all its witnesses. Its own choice, detail and repro
// are the first witness's.
type Finding struct {
	Verdict string `json:"verdict"`
	// Cause is what the witnesses share, such as the file that they leave:
	// "app.lock is left behind and blocks the next run".
	Cause  string `json:"cause"`
	Choice string `json:"choice"` // what --only takes
	Detail string `json:"detail"` // what happened, in a sentence or few
	Repro  string `json:"repro"`  // the command line that shows it again
	// Picture shows it, line by line, to be set in letters of one width.
	Picture   []string `json:"picture,omitempty"`
	Witnesses []string `json:"witnesses"`
}

// Trial is one experiment and what is known of it.
type Trial struct {
	Choice  string   `json:"choice"`
	Point   string   `json:"point,omitempty"` // row of the heat map: a selector, or a place's name
	Fault   string   `json:"fault,omitempty"` // column of the heat map: "ENOSPC", "kill after"
	Verdict string   `json:"verdict"`         // "void", "unreached" and "control" are not counted as verdicts
	Finding bool     `json:"finding"`
	Cause   string   `json:"cause,omitempty"` // the same in all trials that one fix would mend
	Detail  string   `json:"detail,omitempty"`
	Repro   string   `json:"repro,omitempty"`
	Picture []string `json:"picture,omitempty"`
	Status  string   `json:"status,omitempty"` // of the subject: "exit status 1", "killed"
	// Evidence is there for findings, up to a bound, and for the control.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence is what a person looks at to believe a trial.
type Evidence struct {
	// Steps are the subject's operations in order; of a long run those around the
	// fault are enough.
	Steps   []Step   `json:"steps,omitempty"`
	Left    []Change `json:"left,omitempty"`    // the tree after the faulted run, against before
	After   []Change `json:"after,omitempty"`   // the tree after the next run, against before
	Control []Change `json:"control,omitempty"` // the tree after a run without a fault
	Stdout  string   `json:"stdout,omitempty"`  // of the faulted run, its beginning
	Stderr  string   `json:"stderr,omitempty"`
	Next    *Outcome `json:"next,omitempty"`
	Check   *Outcome `json:"check,omitempty"`
}

// Outcome is how a run beside the faulted one ended.
type Outcome struct {
	Status string `json:"status"` // "exit status 1", "killed after 10s"
	Output string `json:"output,omitempty"`
}

// Step is one operation of a timeline.
type Step struct {
	Point  string `json:"point"`            // as a selector
	Bytes  *int64 `json:"bytes,omitempty"`  // asked for
	Result string `json:"result,omitempty"` // an errno's name, "killed", where known
	Fault  bool   `json:"fault,omitempty"`  // the choice struck here
}

// Change is one entry of a tree that is not as before.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before"` // "absent", "file, 12 bytes"
	After  string `json:"after"`
	Head   string `json:"head,omitempty"` // how the file begins now
}
