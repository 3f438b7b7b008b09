//go:build linux

package sweep

import (
	"slices"
	"strings"
	"testing"

	"faultlab/internal/op"
	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

func step(kind op.Kind, path string, size int64) trial.Step {
	s := trial.Step{Op: op.Op{Kind: kind, Path: path, Size: size, Off: -1}}
	s.Point = op.Point{Kind: kind, Path: path, Nth: 1}
	return s
}

func named(faults []fault) string {
	var out []string
	for _, f := range faults {
		out = append(out, f.name)
	}
	return strings.Join(out, ", ")
}

// What can really happen at an operation: EROFS comes to stay, one byte cannot be
// cut, and a death at what changes nothing is that of its neighbours.
func TestFaultsAt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		o    op.Op
		want string
	}{
		{op.Op{Kind: op.Write, Size: 10}, "ENOSPC, ENOSPC stays, EIO, EIO stays, short, short, then ENOSPC, kill, kill mid, kill after"},
		{op.Op{Kind: op.Write, Size: 1}, "ENOSPC, ENOSPC stays, EIO, EIO stays, kill, kill after"},
		{op.Op{Kind: op.Read, Size: 10}, "EIO, EIO stays"},
		{op.Op{Kind: op.Unlink, Size: -1}, "EIO, EIO stays, EROFS stays, kill, kill after"},
		{op.Op{Kind: op.Sync, Size: -1}, "EIO, EIO stays"},
		{op.Op{Kind: op.Lock, Size: -1}, "ENOLCK, ENOLCK stays"},
		{op.Op{Kind: op.Truncate, Also: op.Open, Size: -1}, "EACCES, EACCES stays, EMFILE, EMFILE stays, EIO, EIO stays, kill, kill after"},
	} {
		if got := named(faultsAt(&test.o)); got != test.want {
			t.Errorf("%v: %s\nnot %s", test.o.Kind, got, test.want)
		}
	}
}

func planned(opts Options, changed []string, steps ...trial.Step) []string {
	c := &trial.Controls{Control: verdict.Control{}, Steps: steps, Changed: make(map[string]bool)}
	for _, path := range changed {
		c.Changed[path] = true
	}
	if opts.Ops == 0 {
		opts.Ops = Kinds
	}
	var choices []string
	for _, k := range New(nil, c, opts, &trial.Log{}).Cases() {
		choices = append(choices, k.Choice)
	}
	return choices
}

// Of an input one open and one read fail, once; of what is changed everything.
func TestCases(t *testing.T) {
	t.Parallel()
	steps := []trial.Step{
		step(op.Open, "in", -1), step(op.Read, "in", 9), step(op.Read, "in", 9), step(op.Close, "in", -1),
		step(op.Stat, "out", -1), step(op.Unlink, "out", -1), step(op.Write, "d/log.{1}", 8),
	}
	for _, test := range []struct {
		name string
		opts Options
		want string
	}{
		{"a path", Options{Paths: []string{"in"}, Faults: []string{"EIO"}, Ops: op.SetOf(op.Close)}, "close path=./in nth=1 do fail EIO|close path=./in nth=1 do fail EIO stay"},
		{"inputs", Options{Ops: op.SetOf(op.Open, op.Read, op.Close)}, "open path=./in nth=1 do fail EACCES|read path=./in nth=1 do fail EIO"},
		{"a fault", Options{Faults: []string{"kill"}}, "unlink path=./out nth=1 do kill|unlink path=./out nth=1 do kill after|" +
			"write path=d/log.{1} nth=1 do kill|write path=d/log.{1} nth=1 do kill mid 4|write path=d/log.{1} nth=1 do kill after"},
		{"short", Options{Faults: []string{"short"}}, "write path=d/log.{1} nth=1 do short 4|write path=d/log.{1} nth=1.. do short 4 fail ENOSPC"},
		{"a glob", Options{Faults: []string{"ENOSPC"}, Paths: []string{"d/*"}}, "write path=d/log.{1} nth=1 do fail ENOSPC|write path=d/log.{1} nth=1 do fail ENOSPC stay"},
		{"nothing", Options{Ops: op.SetOf(op.Link)}, ""},
	} {
		if got := strings.Join(planned(test.opts, []string{"out", "d/log.{1}"}, steps...), "|"); got != test.want {
			t.Errorf("%s: %s\nnot %s", test.name, got, test.want)
		}
	}
}

// A choice is read as it was printed, whatever stands in a path.
func TestChoice(t *testing.T) {
	t.Parallel()
	var steps []trial.Step
	paths := []string{"a", "a b", "it's", "x[1]", "t.{1}", "d/é#", "a;b", "a; b"}
	for _, path := range paths {
		steps = append(steps, step(op.Write, path, 9))
	}
	choices := planned(Options{}, paths, steps...)
	for _, choice := range append(choices, choices[0]+"; "+choices[len(choices)-1]) {
		c, err := Parse(choice)
		if err != nil || c.Choice != choice {
			t.Errorf("%s\nis read as %s, %v", choice, c.Choice, err)
		}
	}
	for _, choice := range []string{"", "write", "write do explode", "write do fail EIO;", "on"} {
		if c, err := Parse(choice); err == nil {
			t.Errorf("%q is read as %q", choice, c.Choice)
		}
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string][]string{
		"write path=./run.lock nth=1 do fail ENOSPC":                                     {"write", "ENOSPC", "./run.lock", ""},
		"write path=d/t.{1}.{2} nth=1.. do short 4 fail ENOSPC":                          {"write", "short", "d/t.*.*", ""},
		"unlink path=./x nth=3 do kill after":                                            {"unlink", "kill", "./x", ""},
		"create path=./f nth=1 do fail EIO stay":                                         {"create", "EIO", "./f", ""},
		"create path=./f nth=1 do fail EIO; rmdir path=./lock nth=1 do fail EACCES stay": {"create,rmdir", "EIO,EACCES", "./f,./lock", "2"},
	} {
		a, err := Narrow(choice)
		depth := ""
		if a.Depth > 1 {
			depth = "2"
		}
		got := []string{strings.Join(a.Ops, ","), strings.Join(a.Faults, ","), strings.Join(a.Paths, ","), depth}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q (%v)", choice, got, want, err)
		}
		for _, fault := range a.Faults {
			if !slices.Contains(Faults(), fault) {
				t.Errorf("%s: --faults takes no %q", choice, fault)
			}
		}
	}
}
