package rule

import (
	"fmt"
	"strings"
	"testing"

	"faultlab/internal/op"
)

func TestNearest(t *testing.T) {
	seen := []op.Point{
		{Kind: op.Open, Path: "config", Nth: 1},
		{Kind: op.Create, Path: "d/run.lock", Nth: 1},
		{Kind: op.Write, Path: "d/run.lock", Nth: 1},
		{Kind: op.Write, Path: "d/run.lock", Nth: 2},
		{Kind: op.Write, Path: "d/run.lock", Nth: 3},
		{Kind: op.Write, Path: "results.jsonl", Nth: 1},
		{Kind: op.Sync, Path: "d/run.lock", Nth: 1},
		{Actor: 'B', Kind: op.Write, Path: "tmp.{1}", Nth: 1},
	}
	for _, c := range []struct{ rule, want string }{
		{"write path=run.lock nth=5 do kill", "write path=d/run.lock nth=3; create path=d/run.lock nth=1; sync path=d/run.lock nth=1"},
		{"write path=run.lcok do kill", "write path=d/run.lock nth=1; create path=d/run.lock nth=1; sync path=d/run.lock nth=1"},
		{"fsync path=e/run.lock do kill", "sync path=d/run.lock nth=1; create path=d/run.lock nth=1; write path=d/run.lock nth=1"},
		{"rename do kill", "open path=./config nth=1; create path=d/run.lock nth=1; write path=d/run.lock nth=1"},
		{"open path=confgi nth=2 do kill", "open path=./config nth=1; "},
		{"write path=tmp.{2} nth=1 do kill", "write path=./tmp.{1} nth=1 actor=B; "},
		{"write path=tmp.{1} actor=A do kill", "write path=./tmp.{1} nth=1 actor=B; "},
		{"mutate path=/abs/results.jsonl do kill", "write path=./results.jsonl nth=1; "},
	} {
		var got []string
		for _, p := range Nearest(mustParse(t, c.rule), seen) {
			got = append(got, p.String())
		}
		if s := strings.Join(got, "; "); len(got) != 3 || !strings.HasPrefix(s, c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.rule, s, c.want)
		}
	}
	seen = []op.Point{
		{Actor: 'B', Kind: op.Write, Path: "x", Nth: 1},
		{Kind: op.Write, Path: "x", Nth: 1},
		{Actor: 'A', Kind: op.Read, Path: "x", Nth: 1},
		{Kind: op.Write, Path: "tmp.{2}", Nth: 1},
		{Kind: op.Write, Path: "tmp.{1}", Nth: 1},
	}
	for rule, want := range map[string]op.Point{
		"write path=x actor=A do kill": seen[1],
		"write path=tmp.{2} do kill":   seen[3],
		"write path=tmp.{1} do kill":   seen[4],
	} {
		if got := Nearest(mustParse(t, rule), seen); got[0] != want {
			t.Errorf("%s: nearest is %s, want %s", rule, got[0], want)
		}
	}
	if got := Nearest(mustParse(t, "write do kill"), nil); got != nil {
		t.Errorf("nothing was seen, but nearest is %v", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"write", "wirte", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func ExampleParse() {
	r, err := Parse("write nth=1 path=run.lock do fail ENOSPC")
	fmt.Println(r, err)
	_, err = Parse("wirte path=x do fail EIO")
	fmt.Println(err)
	// Output:
	// on write path=run.lock nth=1 do fail ENOSPC <nil>
	// rule "wirte path=x do fail EIO": col 1: unknown operation "wirte": did you mean "write"? (kinds: open, create, read, readdir, stat, write, sync, truncate, allocate, rename, link, unlink, mkdir, rmdir, attr, lock, close, chdir, connect; mutate; or a system call's name)
}
