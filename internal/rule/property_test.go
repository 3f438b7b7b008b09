package rule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"faultlab/internal/op"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

// drawRule makes any rule that Parse can return, Pos aside.
func drawRule(t *rapid.T) Rule {
	r := Rule{Selector: drawSelector(t), Action: drawAction(t)}
	if r.Budget > 0 {
		r.Nth = Range{}
		r.Action = Action{Verb: DoFail, Errno: 28}
	}
	kinds := wordKinds(r.Word)
	if r.Verb == DoShort && !kinds.Meets(transfers) || r.When == Mid && !kinds.Has(op.Write) {
		r.Word, r.Hold = "write", 0
	}
	return r
}

func drawSelector(t *rapid.T) Selector {
	s := Selector{
		Word: rapid.SampledFrom(words()).Draw(t, "word"),
		Path: rapid.OneOf(rapid.Just(""), rapid.String().Filter(func(s string) bool { return checkPath(s) == nil }),
			rapid.SampledFrom([]string{"**/a b", "'", "#", "x.{1}/{2}", "/a/{b,c}", "./a", "a\nb", "\xff"})).Draw(t, "path"),
		Proc:  rapid.SampledFrom([]string{"", "git*", "a b"}).Draw(t, "proc"),
		Actor: rapid.SampledFrom([]byte{0, 'A', 'Z'}).Draw(t, "actor"),
	}
	if first := rapid.IntRange(0, 5).Draw(t, "first"); first > 0 {
		s.Nth = Range{first, rapid.SampledFrom([]int{0, first, first + 3}).Draw(t, "last")}
	}
	if budget := rapid.Int64Range(-1, 1<<40).Draw(t, "budget"); budget > 0 && (s.Word == "write" || s.Word == "sendfile") {
		s.Budget = budget
	}
	if op.HasMode(wordKinds(s.Word)) {
		s.Mode = op.Mode(rapid.IntRange(0, int(op.ReadsWrites)).Draw(t, "mode"))
	}
	if wordKinds(s.Word).Has(op.Lock) {
		s.Hold = op.Hold(rapid.IntRange(0, int(op.Exclusive)).Draw(t, "lock"))
	}
	return s
}

func drawAction(t *rapid.T) Action {
	a := Action{Verb: Verb(rapid.IntRange(int(DoFail), int(DoHold)).Draw(t, "verb"))}
	count := rapid.Int64Range(1, 1<<62)
	errno := rapid.SampledFrom([]Errno{1, 5, 11, 28, 95, 133})
	name := rapid.OneOf(rapid.StringN(1, 9, 40), rapid.SampledFrom([]string{"a b", "it's", "#", "until="}))
	switch a.Verb {
	case DoFail:
		a.Errno, a.Stay = errno.Draw(t, "errno"), rapid.Bool().Draw(t, "stay")
	case DoShort:
		a.Bytes = count.Draw(t, "bytes")
		a.Errno = rapid.SampledFrom([]Errno{0, 28}).Draw(t, "then")
		a.Stay = a.Errno != 0 && rapid.Bool().Draw(t, "stay")
	case DoKill:
		a.Process = rapid.Bool().Draw(t, "process")
		if a.When = When(rapid.IntRange(0, 2).Draw(t, "when")); a.When == Mid {
			a.Bytes = count.Draw(t, "mid")
		}
	case DoSignal:
		a.Signal = Signal(rapid.IntRange(1, 31).Draw(t, "signal"))
	case DoDelay:
		a.Delay = time.Duration(count.Draw(t, "delay"))
	case DoHold:
		a.Until = name.Draw(t, "until")
		a.Mark = rapid.OneOf(rapid.Just(""), name).Draw(t, "mark")
	}
	return a
}

func TestParseUndoesPrint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRule(t)
		text := want.String()
		got, err := Parse(text)
		got.Pos = Pos{}
		if err != nil || got != want {
			t.Fatalf("%s\nparsed: %v\ngot  %#v\nwant %#v", text, err, got, want)
		}
		inFile, err := ParseFile("f", "# first\n"+text+" # behind\n")
		if err != nil || len(inFile) != 1 || inFile[0].String() != text {
			t.Fatalf("%s\nin a file: %v, %v", text, inFile, err)
		}
	})
}

func TestLiteralMatchesItselfAlone(t *testing.T) {
	name := rapid.StringMatching(`[ab*?{},!\\'# \[\]-]{1,6}`)
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "names"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		p, other := path.Draw(t, "path"), path.Draw(t, "other")
		glob := op.Literal(p)
		if err := checkPath(glob); err != nil {
			t.Fatalf("Literal(%q): %v", p, err)
		}
		match := matchPath(glob, "/tree")
		if !match(p) || match("x/"+p) || match(other) && other != p {
			t.Fatalf("%s for %q: itself %t, deeper %t, %q %t", glob, p, match(p), match("x/"+p), other, match(other))
		}
	})
}

// A glob with one hole, of the highest number that fits, matches exactly the
// paths that its shape does, if the hole's values are numbered beforehand.
func TestHolesMatchAsGlobs(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "/", "*", "?", "**/", "/**", "{a,b}", "[ab]", ""})
	piece := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), "") })
	rapid.Check(t, func(t *rapid.T) {
		before, after := piece.Draw(t, "before"), piece.Draw(t, "after")
		glob := before + "{1}" + after
		if checkPath(glob) != nil {
			t.Skip("no glob")
		}
		path := rapid.StringMatching(`[ab]{1,3}(/[ab]{1,3}){0,3}`).Draw(t, "path")
		want := doublestar.MatchUnvalidated(before+"?*"+after, path)
		if got := newHoles(glob).match(path); got != want {
			t.Fatalf("%s on %s: %t, want %t", glob, path, got, want)
		}
	})
}

func TestOrderOfKeysDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawRule(t)
		want.Path = strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n'#", r) {
				return 'x'
			}
			return r
		}, want.Path)
		want.Proc = strings.ReplaceAll(want.Proc, " ", "x")
		selector, action, _ := strings.Cut(want.String(), " do ")
		words := strings.Split(selector, " ")
		keys := rapid.Permutation(words[2:]).Draw(t, "keys")
		text := strings.Join(slices.Concat(words[:2], keys), " ") + " do " + action
		if got, err := Parse(text); err != nil || got.String() != want.String() {
			t.Fatalf("%s\ngot  %s, %v\nwant %s", text, got, err, want)
		}
	})
}

// Whatever is written and whoever else interferes, the disk holds as many
// bytes as it has room for, and everything behind the first refusal fails.
func TestBudgetIsADisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 50).Draw(t, "budget")
		r := Rule{Selector: Selector{Word: "write", Budget: size}, Action: Action{Verb: DoFail, Errno: 28}}
		m := NewMatcher("/tree", []Rule{r})
		var held, asked int64
		for _, n := range rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "writes") {
			act, _ := m.Decide(&op.Op{Kind: op.Write, Call: "write", Path: "f", Size: n})
			asked += n
			held += act.lands(n)
			if held != min(asked, size) {
				t.Fatalf("after %d bytes the disk of %d holds %d", asked, size, held)
			}
		}
		if fired := len(m.Unfired()) == 0; fired != (asked > size) {
			t.Fatalf("fired: %t after %d bytes on a disk of %d", fired, asked, size)
		}
	})
}

// Up to where it fires a rule that stays does as it would without; from there
// on what fails does not depend on what was done meanwhile.
func TestStayIsAState(t *testing.T) {
	kind := rapid.SampledFrom(op.Kinds())
	path := rapid.SampledFrom([]string{"a", "d/b", "/etc/x"})
	drawOp := rapid.Custom(func(t *rapid.T) op.Op {
		return op.Op{Kind: kind.Draw(t, "kind"), Path: path.Draw(t, "path"), Size: rapid.Int64Range(-1, 2).Draw(t, "size"),
			Exists: rapid.Bool().Draw(t, "exists"), Writes: rapid.Bool().Draw(t, "writes")}
	})
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.IntRange(1, 4).Draw(t, "nth")
		r := Rule{Selector: Selector{Word: kind.Draw(t, "word").String(), Path: "a", Nth: Range{first, first}},
			Action: Action{Verb: DoFail, Errno: rapid.SampledFrom([]Errno{1, 5, 12, 13, 23, 24, 28, 30, 37, 122}).Draw(t, "errno")}}
		plain := NewMatcher("/tree", []Rule{r})
		r.Stay = true
		staying := NewMatcher("/tree", []Rule{r})
		said := make(map[op.Op]Action)
		fired := false
		for _, o := range rapid.SliceOfN(drawOp, 0, 60).Draw(t, "ops") {
			want, _ := plain.Decide(&o)
			got, _ := staying.Decide(&o)
			if before, ok := said[o]; fired && ok && before != got {
				t.Fatalf("%+v: %s, and %s before", o, got, before)
			} else if !fired && got != want {
				t.Fatalf("%+v: %s, and %s without stay", o, got, want)
			}
			if fired {
				said[o] = got
			}
			fired = fired || want.Verb == DoFail
		}
	})
}
