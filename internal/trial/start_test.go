//go:build linux

package trial

import (
	"slices"
	"strings"
	"testing"

	"faultlab/internal/op"
)

func TestEnviron(t *testing.T) {
	t.Setenv("PWD", "/where/it/was/typed")
	t.Setenv("PLACE_TEST", "kept")
	own := []string{"FAULTFS_TREE=/c/tree", "TMPDIR=/c/tmp", "PWD=/c/tree"}
	for _, test := range []struct {
		name  string
		start Start
		want  []string // NAME=VALUE, or NAME where there is none
	}{
		{"plain", Start{}, []string{"FAULTFS_TREE=/c/tree", "TMPDIR=/c/tmp", "PWD=/c/tree", "PLACE_TEST=kept"}},
		{"set", Start{Set: []string{"PWD={case}/x", "EMPTY="}}, []string{"PWD=/c/case/x", "EMPTY="}},
		{"unset", Start{Unset: []string{"PWD", "PLACE_TEST"}}, []string{"PWD", "PLACE_TEST", "TMPDIR=/c/tmp"}},
		{"bare", Start{Bare: true, Set: []string{"A=1"}}, []string{"FAULTFS_TREE=/c/tree", "A=1", "TMPDIR", "PWD", "PATH"}},
	} {
		env := (&setting{Start: test.start, tree: "/c/tree", folder: "/c/case"}).environ(own)
		for _, want := range test.want {
			name, _, set := strings.Cut(want, "=")
			n := len(env) - len(without(slices.Clone(env), name))
			if set && (n != 1 || !slices.Contains(env, want)) || !set && n != 0 {
				t.Errorf("%s: %s: there are %d of that name", test.name, want, n)
			}
		}
	}
}

// Temporary files may be made where all programs make them, and nothing that is
// there already may be touched.
func TestTemporary(t *testing.T) {
	t.Parallel()
	s := &setting{Start: Start{Temp: true}}
	for _, test := range []struct {
		o    op.Op
		want bool
	}{
		{op.Op{Kind: op.Create, Path: "/tmp/new"}, true},
		{op.Op{Kind: op.Unlink, Path: "/tmp/new", Exists: true}, true},
		{op.Op{Kind: op.Mkdir, Path: "/var/tmp/dir"}, true},
		{op.Op{Kind: op.Create, Path: "/var/tmp/dir/below"}, true},
		{op.Op{Kind: op.Rename, Path: "/tmp/new", To: "/tmp/newer"}, true},
		{op.Op{Kind: op.Attr, Path: "/tmp/newer", Exists: true}, true},
		{op.Op{Kind: op.Open, Path: "/tmp/theirs", Exists: true, Writes: true}, false},
		{op.Op{Kind: op.Unlink, Path: "/tmp/theirs", Exists: true}, false},
		{op.Op{Kind: op.Create, Path: "/tmp/their/new"}, false},
		{op.Op{Kind: op.Create, Path: "/etc/new"}, false},
		{op.Op{Kind: op.Rename, Path: "/tmp/new", To: "/tmp/theirs", Exists: true}, false},
	} {
		got := s.temporary(&test.o, test.o.Path)
		if test.o.To != "" {
			got = got && s.temporary(&test.o, test.o.To)
		}
		if got != test.want {
			t.Errorf("%v %s %s: %v", test.o.Kind, test.o.Path, test.o.To, got)
		}
	}
	if (&setting{}).temporary(&op.Op{Kind: op.Create, Path: "/tmp/more"}, "/tmp/more") {
		t.Error("a plain start may write to /tmp")
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	s := &setting{tree: "/c/tree", folder: "/c/case", foreign: []string{"/c/case/elsewhere"}}
	for path, want := range map[string]bool{
		"/c/case/elsewhere": true, "/c/case/elsewhere/x": true, "/c/case/elsewhere2": false, "/c/case": false, "/c/tmp": false,
	} {
		if got := s.denies(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	got := s.names([]string{"/c/case/elsewhere/x", "/etc/x"})
	if want := []string{"{case}/elsewhere/x", "/etc/x"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
