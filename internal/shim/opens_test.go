//go:build linux

package shim_test

import (
	"slices"
	"strings"
	"testing"

	"faultlab/internal/op"
)

// Which opens can write, and what was there already.
func TestWritesAndExists(t *testing.T) {
	tr := try(t)
	tr.calls = slices.DeleteFunc(op.Calls(op.All), func(c string) bool { return c == "close" })
	tr.c("opens").ok("")
	want := `create f writes
open f exists
open f writes exists
open f writes exists
open f exists
open f writes exists
open f exists
open f exists
create new writes
open none
create . writes exists
open f writes exists
open f exists
open f writes exists
open f exists
open f writes exists
mkdir d
mkdir d exists
create f exists
link f exists
link f
link f exists
unlink hard exists`
	checkFacts(t, tr, want)
}

// An open for reading is not seen where nobody asked for opens as such; one
// that can write is, and so is openat2, whose flags the filter cannot read.
func TestOpenWrites(t *testing.T) {
	for _, c := range []struct {
		also []string
		want string
	}{
		{op.TreeCalls(), `create f writes
open f writes exists
open f writes exists
open f exists
open f writes exists
open f exists
open f exists
create new writes
create . writes exists
open f writes exists
open f exists
open f writes exists
open f writes exists
mkdir d
mkdir d exists
create f exists
link f exists
link f
link f exists
unlink hard exists`},
		{[]string{"open"}, `create f writes
open f writes exists
open f writes exists
open f exists
open f writes exists
open f exists
open f exists
create new writes
create . writes exists
open f writes exists
open f exists
open f writes exists
open f exists
open f writes exists`},
	} {
		tr := try(t)
		tr.calls, tr.openWrites = c.also, true
		tr.c("opens").ok("")
		checkFacts(t, tr, c.want)
	}
}

func checkFacts(t *testing.T, tr *trial, want string) {
	t.Helper()
	var got []string
	for _, o := range tr.log.ops {
		got = append(got, facts(&o))
	}
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("saw\n%s\nwant\n%s", s, want)
	}
}

func facts(o *op.Op) string {
	s := o.Kind.String() + " " + o.Path
	if o.Writes {
		s += " writes"
	}
	if o.Exists {
		s += " exists"
	}
	return s
}
