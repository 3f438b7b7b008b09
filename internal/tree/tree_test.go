package tree

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

func file(text string) Entry {
	return Entry{Kind: File, Perm: 0o644, Size: int64(len(text)), Sum: sha256.Sum256([]byte(text)), Head: text}
}

func perm(e Entry, mode fs.FileMode) Entry {
	e.Perm = mode
	return e
}

func TestSame(t *testing.T) {
	t.Parallel()
	link := Entry{Kind: Link, Perm: 0o777, Sum: sha256.Sum256([]byte("a")), Head: "a"}
	grown := file("a")
	grown.Grown = true
	for _, test := range []struct {
		name           string
		a, b           Entry
		same, volatile bool
	}{
		{"absent", Entry{}, Entry{}, true, true},
		{"equal", file("a"), file("a"), true, true},
		{"contents", file("a"), file("b"), false, true},
		{"emptied", file("a"), file(""), false, false},
		{"mode", file("a"), perm(file("a"), 0o600), false, true},
		{"set-id", file("a"), perm(file("a"), 0o644|fs.ModeSetuid), false, true},
		{"kind", file("a"), link, false, false},
		{"gone", file(""), Entry{}, false, false},
		{"how it came about", file("a"), grown, true, true},
		{"directories", Entry{Kind: Dir}, Entry{Kind: Dir}, true, true},
	} {
		for volatile, want := range map[bool]bool{false: test.same, true: test.volatile} {
			if Same(test.a, test.b, volatile) != want || Same(test.b, test.a, volatile) != want {
				t.Errorf("%s, volatile %v: not %v", test.name, volatile, want)
			}
		}
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	base := Snapshot{"same": file("a"), "gone": file("b"), "other": file("c"), "mode": file("d"), "kind": file("e")}
	got := Snapshot{"same": file("a"), "other": file("C"), "mode": perm(file("d"), 0o755), "kind": {Kind: Dir}, "new": file("")}
	want := Delta{"gone": {}, "other": file("C"), "mode": perm(file("d"), 0o755), "kind": {Kind: Dir}, "new": file("")}
	if d := Diff(base, got); !maps.Equal(d, want) {
		t.Errorf("%v\nnot %v", d, want)
	}
	if d := Diff(base, base); d == nil || len(d) > 0 {
		t.Errorf("of a tree and itself: %v", d)
	}
	if paths := want.Paths(); !slices.Equal(paths, []string{"gone", "kind", "mode", "new", "other"}) {
		t.Errorf("paths: %q", paths)
	}
}

func TestDeltaIsNotChanged(t *testing.T) {
	t.Parallel()
	d := Delta{"pid.17": file("a"), "log": file("b")}
	renamed := d.Renamed(func(p string) string { return strings.ReplaceAll(p, "17", "{1}") })
	if !maps.Equal(renamed, Delta{"pid.{1}": file("a"), "log": file("b")}) {
		t.Errorf("renamed: %v", renamed)
	}
	less := d.Without(func(p string) bool { return p == "log" })
	if !maps.Equal(less, Delta{"pid.17": file("a")}) {
		t.Errorf("without: %v", less)
	}
	if len(d) != 2 {
		t.Errorf("it is now %v", d)
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Entry{
		"absent": {}, "file, 3 bytes": file("abc"), "directory": {Kind: Dir},
		"link to x": {Kind: Link, Head: "x"}, "special file": {Kind: Other, Head: "FIFO"},
	} {
		if e.String() != want {
			t.Errorf("%q is not %q", e.String(), want)
		}
	}
	if !file("").Empty() || file("a").Empty() || (Entry{Kind: Dir}).Empty() {
		t.Error("empty is not a file without contents")
	}
}
