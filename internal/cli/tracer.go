//go:build linux

package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/shim"
)

// line is one operation in a trace file.
type line struct {
	Point    string `json:"point"` // as a rule's selector
	Kind     string `json:"kind"`
	Also     string `json:"also,omitempty"` // the second kind of a call that is two
	Path     string `json:"path"`
	To       string `json:"to,omitempty"`
	Call     string `json:"call"`
	Pid      int    `json:"pid"`
	Tid      int    `json:"tid"`
	Proc     string `json:"proc,omitempty"`
	Script   string `json:"script,omitempty"`
	Offset   *int64 `json:"offset,omitempty"` // bytes
	Size     *int64 `json:"size,omitempty"`   // bytes asked for
	Replaces bool   `json:"replaces,omitempty"`
	// Result and Error are there only where the supervisor knows them.
	Result *int64 `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
	Rule   string `json:"rule,omitempty"`
}

// tracer writes operations to a file as they are decided. Each line is written
// at once, for whoever waits for it.
type tracer struct {
	file   *os.File
	out    *bufio.Writer
	json   *json.Encoder
	points op.Counter
	err    error
}

func newTracer(path string) (*tracer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, usagef("open the trace: %w", err)
	}
	t := &tracer{file: f, out: bufio.NewWriter(f)}
	t.json = json.NewEncoder(t.out)
	t.json.SetEscapeHTML(false)
	return t, nil
}

// Saw implements shim.Observer.
func (t *tracer) Saw(o *op.Op, r shim.Result) {
	l := line{
		Point: t.points.Point(o).String(),
		Kind:  o.Kind.String(), Path: o.Path, To: o.To, Call: o.Call,
		Pid: o.Pid, Tid: o.Tid, Proc: o.Proc, Script: o.Script,
		Offset: known(o.Off), Size: known(o.Size), Replaces: o.Replaces,
	}
	if o.Also != op.None {
		l.Also = o.Also.String()
	}
	if r.Rule != nil {
		l.Rule = r.Rule.String()
	}
	switch {
	case r.Known && r.Errno != 0:
		l.Error = unix.ErrnoName(r.Errno)
	case r.Known:
		l.Result = &r.Value
	}
	if err := t.json.Encode(l); err != nil && t.err == nil {
		t.err = err
	}
	if err := t.out.Flush(); err != nil && t.err == nil {
		t.err = err
	}
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// finish reports what could not be written.
func (t *tracer) finish() error {
	if err := errors.Join(t.err, t.file.Close()); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
