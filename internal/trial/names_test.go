//go:build linux

package trial

import (
	"crypto/sha256"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"faultlab/internal/op"
	"faultlab/internal/rule"
	"faultlab/internal/tree"
)

// Each row: what three controls named, and what the first one's names become.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		runs []string // names, space-separated
		want string
	}{
		{"nothing varies", []string{"a b/c", "a b/c", "a b/c"}, "a b/c"},
		{"pids", []string{"run.lock.4711 run.lock", "run.lock.4712 run.lock", "run.lock.4713 run.lock"}, "run.lock.{1} run.lock"},
		{"pids of another length", []string{"run.99", "run.100", "run.101"}, "run.{1}"},
		{"two pids", []string{"w.10 w.11", "w.20 w.21", "w.30 w.31"}, "w.{1} w.{2}"},
		{"mkstemp", []string{"sedAbC123 f", "sedxYz789 f", "sedQQQ111 f"}, "sed{1} f"},
		{"CreateTemp", []string{"state.tmp1234567 state", "state.tmp7654321 state", "state.tmp999 state"}, "state.tmp{1} state"},
		{"suffix kept", []string{"out-81.json", "out-92.json", "out-73.json"}, "out-{1}.json"},
		{"temporary folder", []string{"d/tmp.aB3/x d/tmp.aB3/y", "d/tmp.Zk9/x d/tmp.Zk9/y", "d/tmp.qq1/x d/tmp.qq1/y"}, "d/tmp.{1}/x d/tmp.{1}/y"},
		{"git objects", []string{
			".git/objects/36/tmp_obj_aBcDeF .git/objects/36/83f870be446c7cc05ffaef9fa06415276e1828",
			".git/objects/1f/tmp_obj_qRsTuV .git/objects/1f/0123456789abcdef0123456789abcdef012345",
			".git/objects/c0/tmp_obj_000000 .git/objects/c0/ffffffffffffffffffffffffffffffffffffff",
		}, ".git/objects/{1}/tmp_obj_{1} .git/objects/{1}/{2}"}, // a rule's "{1}/{1}" takes the temporary name, too
		{"hex names", []string{"9f2c", "01ab", "77fe"}, "{1}"},
		{"one run only", []string{"a odd", "a", "a"}, "a odd"},
	} {
		var runs [][]string
		for _, r := range test.runs {
			runs = append(runs, strings.Fields(r))
		}
		names := Learn(runs...).Start()
		var got []string
		for _, path := range runs[0] {
			got = append(got, names.Name(path))
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s\nnot %s", test.name, s, test.want)
		}
	}
}

// A name has the same canonical form whenever it comes.
func TestNamesRemember(t *testing.T) {
	t.Parallel()
	n := Learn([]string{"t.1"}, []string{"t.2"}, []string{"t.3"}).Start()
	for _, ask := range []string{"t.7", "t.8", "t.7"} {
		want := map[string]string{"t.7": "t.{1}", "t.8": "t.{2}"}[ask]
		if got := n.Name(ask); got != want {
			t.Errorf("%s is %s, not %s", ask, got, want)
		}
	}
	if got := n.Op(op.Op{Path: "/etc/t.7", To: "t.8"}); got.Path != "/etc/t.7" || got.To != "t.{2}" {
		t.Errorf("operation: %+v", got)
	}
}

// In a tree names are told apart by what they hold, since which came first says
// nothing of what is left.
func TestNamesOfTree(t *testing.T) {
	t.Parallel()
	p := Learn([]string{"t.1", "t.2"}, []string{"t.3", "t.4"})
	file := func(s string) tree.Entry {
		return tree.Entry{Kind: tree.File, Size: int64(len(s)), Sum: sha256.Sum256([]byte(s))}
	}
	a := p.Tree(tree.Delta{"t.77": file("x"), "t.78": file(""), "log": file("l")})
	b := p.Tree(tree.Delta{"t.12": file(""), "t.13": file("x"), "log": file("l")})
	if d := tree.Diff(tree.Snapshot(a), tree.Snapshot(b)); len(d) > 0 || len(a) != 3 {
		t.Errorf("%v\n%v", a, b)
	}
}

// runOf makes up the names of one run, in order of first appearance: every run
// has the same ones but for what varies.
func runOf(shape []string, vary func() string) []string {
	var values []string
	var out []string
	for _, s := range shape {
		for i := range 4 {
			if i == len(values) {
				values = append(values, vary())
			}
			s = strings.ReplaceAll(s, fmt.Sprint("<", i, ">"), values[i])
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// The canonical name of a path, printed as a rule's glob, matches in a run that
// sees the same order of names just that path: what --only names is what was
// counted.
func TestNamesAgreeWithRules(t *testing.T) {
	t.Parallel()
	shapes := []string{
		"run.lock", "run.lock.<0>", "run.lock.<1>", "tmp-<0>.json", "tmp-<1>.json", "d/<0>/a", "d/<0>/b", "d/<1>/a",
		"sed<2>", "out.<0>.<1>", "x[1]", "a b", "tmp-0.json", "deep/er/f<3>.bak",
	}
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfNDistinct(rapid.SampledFrom(shapes), 1, 8, rapid.ID).Draw(t, "shape")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		seen := make(map[string]bool)
		vary := func() string {
			for {
				v := fmt.Sprint(100000 + random.Intn(900000))
				if !seen[v] {
					seen[v] = true
					return v
				}
			}
		}
		p := Learn(runOf(shape, vary), runOf(shape, vary), runOf(shape, vary))
		paths := runOf(shape, vary)
		names := p.Start()
		for _, path := range paths {
			checkSelected(t, names.Name(path), path, paths)
		}
	})
}

// checkSelected fails unless a rule at the canonical name fires at path alone.
func checkSelected(t *rapid.T, canonical, path string, paths []string) {
	r := rule.Rule{Selector: rule.Selector{Word: "create", Path: op.Literal(canonical)}, Action: rule.Action{Verb: rule.DoFail, Errno: rule.Errno(28)}}
	m := rule.NewMatcher("/tree", []rule.Rule{r})
	for _, p := range paths {
		_, fired := m.Decide(&op.Op{Kind: op.Create, Call: "openat", Path: p, Size: -1, Off: -1})
		if (fired != nil) != (p == path) {
			t.Fatalf("%q, which is %s, fires at %q: %v, of %q", r.Path, path, p, fired != nil, paths)
		}
	}
}
