package faultlab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/rule"
)

// tail follows a trace file until it holds an operation.
type tail struct {
	name string
	sel  rule.Selector
	file *os.File // nil until it is there
	in   *bufio.Reader
	half string // a line that is still being written

	matcher *rule.Matcher
	points  op.Counter
}

func newTail(name string, sel rule.Selector) *tail {
	r := rule.Rule{Selector: sel, Action: rule.Action{Verb: rule.DoFail, Errno: 5}}
	return &tail{name: name, sel: sel, matcher: rule.NewMatcher("/", []rule.Rule{r})}
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}

// look reads what is new, and reports whether the operation has come.
func (t *tail) look() (bool, error) {
	if t.file == nil {
		f, err := os.Open(t.name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		t.file, t.in = f, bufio.NewReader(f)
	}
	for {
		text, err := t.in.ReadString('\n')
		t.half += text
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		line := t.half
		t.half = ""
		if hit, err := t.match(line); hit || err != nil {
			return hit, err
		}
	}
}

// traced is what of a line in a trace a selector asks for.
type traced struct {
	Kind, Also, Path, To string
	Call, Proc, Script   string
	Size                 *int64
}

func (t *tail) match(line string) (bool, error) {
	var l traced
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return false, fmt.Errorf("%s is no trace: %w", t.name, err)
	}
	o := op.Op{Actor: 'A', Path: l.Path, To: l.To, Call: l.Call, Proc: l.Proc, Script: l.Script, Off: -1, Size: -1}
	o.Kind, _ = op.ParseKind(l.Kind)
	o.Also, _ = op.ParseKind(l.Also)
	if l.Size != nil {
		o.Size = *l.Size
	}
	t.points.Point(&o)
	_, fired := t.matcher.Decide(&o)
	return fired != nil, nil
}

// missing says what was waited for, and what came instead.
func (t *tail) missing() string {
	msg := fmt.Sprintf("no operation %q in the trace %s", t.sel, t.name)
	var seen []string
	for _, p := range rule.Nearest(rule.Rule{Selector: t.sel}, t.points.Last()) {
		seen = append(seen, p.String())
	}
	if len(seen) == 0 {
		return msg + " (it holds none)"
	}
	return msg + " (nearest: " + strings.Join(seen, ", ") + ")"
}
