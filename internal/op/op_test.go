package op_test

import (
	"slices"
	"testing"

	"faultlab/internal/op"
)

func TestKindNamesReadBack(t *testing.T) {
	for _, k := range op.Kinds() {
		if got, ok := op.ParseKind(k.String()); !ok || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, ok)
		}
		if len(op.Calls(op.SetOf(k))) == 0 {
			t.Errorf("no system call can be a %s", k)
		}
		if !op.All.Has(k) {
			t.Errorf("All lacks %s", k)
		}
	}
	for _, name := range []string{"", "none", "Write", "kind(20)"} {
		if k, ok := op.ParseKind(name); ok {
			t.Errorf("ParseKind(%q) = %v", name, k)
		}
	}
}

func TestSet(t *testing.T) {
	s := op.SetOf(op.Write, op.None, op.Open)
	if got := s.String(); got != "open,write" {
		t.Errorf("String() = %q", got)
	}
	if s.Has(op.None) || !s.Has(op.Open) || s.Has(op.Read) {
		t.Errorf("Has is wrong for %v", s)
	}
	if s.Meets(op.SetOf(op.Read)) || !s.Meets(op.Mutate) {
		t.Errorf("Meets is wrong for %v", s)
	}
	for _, k := range []op.Kind{op.Open, op.Read, op.Stat, op.Sync, op.Lock, op.Close} {
		if op.Mutate.Has(k) {
			t.Errorf("%s does not change the tree", k)
		}
	}
}

func TestChanges(t *testing.T) {
	for _, c := range []struct {
		op   op.Op
		want bool
	}{
		{op.Op{Kind: op.Open}, false},
		{op.Op{Kind: op.Open, Writes: true}, true},
		{op.Op{Kind: op.Truncate, Also: op.Open}, true},
		{op.Op{Kind: op.Mkdir}, true},
		{op.Op{Kind: op.Sync}, false},
		{op.Op{Kind: op.Lock}, false},
	} {
		if got := c.op.Changes(); got != c.want {
			t.Errorf("%s, writes %t: Changes() = %t", c.op.Kinds(), c.op.Writes, got)
		}
	}
}

func TestPossible(t *testing.T) {
	for name, want := range map[string]string{
		"openat": "open,create,truncate", "unlinkat": "unlink,rmdir",
		"copy_file_range": "read,write", "write": "write", "fork": "",
	} {
		if got := op.Possible(name).String(); got != want {
			t.Errorf("Possible(%q) = %q, want %q", name, got, want)
		}
	}
	if !slices.Contains(op.Calls(op.SetOf(op.Rmdir)), "unlinkat") {
		t.Error("an unlinkat can be an rmdir")
	}
}

// The k-th point is what a selector with nth=k names: a rename counts under both
// its names, an open that truncates under both its kinds.
func TestCounter(t *testing.T) {
	var c op.Counter
	for i, step := range []struct {
		op   op.Op
		want string
	}{
		{op.Op{Kind: op.Rename, Path: "a", To: "b"}, "rename path=./a nth=1"},
		{op.Op{Kind: op.Rename, Path: "b", To: "c"}, "rename path=./b nth=2"},
		{op.Op{Kind: op.Open, Path: "b"}, "open path=./b nth=1"},
		{op.Op{Kind: op.Truncate, Also: op.Open, Path: "b"}, "truncate path=./b nth=1"},
		{op.Op{Kind: op.Open, Path: "b"}, "open path=./b nth=3"},
		{op.Op{Kind: op.Open, Path: "it's #1"}, "open path='./it''s #1' nth=1"},
	} {
		if got := c.Point(&step.op).String(); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	last := make(map[string]int)
	for _, p := range c.Last() {
		last[p.Kind.String()+" "+p.Path] = p.Nth
	}
	if last["rename b"] != 2 || last["rename c"] != 1 || last["open b"] != 3 {
		t.Errorf("Last() = %v", last)
	}
}

func TestActors(t *testing.T) {
	c := op.Counter{Actors: true}
	c.Point(&op.Op{Actor: 'A', Kind: op.Sync, Path: "x"})
	if got := c.Point(&op.Op{Actor: 'B', Kind: op.Sync, Path: "x"}).String(); got != "sync path=./x nth=1 actor=B" {
		t.Errorf("got %s", got)
	}
}

func TestTreeCalls(t *testing.T) {
	got := op.TreeCalls()
	for _, name := range []string{"mkdir", "unlinkat", "truncate", "fchmod", "mknodat", "bind", "renameat2"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s changes a tree by itself", name)
		}
	}
	for _, name := range []string{"openat", "creat", "write", "copy_file_range", "ftruncate", "fallocate", "fsync"} {
		if slices.Contains(got, name) {
			t.Errorf("%s needs a descriptor, or is an open", name)
		}
	}
}
