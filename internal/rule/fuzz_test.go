package rule

import (
	"strings"
	"testing"

	"faultlab/internal/op"
)

// FuzzParse feeds the parser anything: it must not panic, an error must be one
// line, and what it takes must print and parse to itself and be decidable.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"on write  path=run.lock   nth=1        do fail ENOSPC",
		"on write  path=**/*.jsonl nth=3..      do short 7 fail ENOSPC",
		"on create path=*.lock                  do kill after",
		"on write  path=store.db   nth=2        do kill mid 100",
		"on write  path=store.db   nth=1        do hold until=go mark=held",
		"on write  path=out/**     budget=65536 do fail ENOSPC",
		"rename path='a ''b' proc=x actor=B nth=2..3 do delay 50ms # why",
		"unlink path=/x/{1}[a-z]{b,c}.{2} do kill process mid 3",
		"write path=x nth=1 do short 7 fail ENOSPC stay",
		"open do fail EROFS stay # read-only",
		"flock mode=r lock=ex do fail EBADF",
		"mutate do signal TERM\non sync do fail EIO",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkFuzzedFile(t, text)
		r, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of two lines: %q", err)
			}
			return
		}
		again, err := Parse(r.String())
		r.Pos, again.Pos = Pos{}, Pos{}
		if err != nil || again != r {
			t.Fatalf("%q\nprints  %q\nparses %#v, %v", text, r, again, err)
		}
		decideSome(r)
	})
}

func checkFuzzedFile(t *testing.T, text string) {
	rules, err := ParseFile("f", text)
	if err == nil && len(rules) == 1 {
		if _, err := Parse(text); err != nil {
			t.Fatalf("%q is a file of one rule, but no rule: %v", text, err)
		}
	}
}

func decideSome(r Rule) {
	m := NewMatcher("/tree", []Rule{r})
	for _, name := range []string{"", ".", "run.lock", "a/b/c", "/tree/x", r.Path} {
		m.Decide(&op.Op{Call: r.Word, Kind: op.Write, Path: name, To: "x", Size: 9})
	}
}
