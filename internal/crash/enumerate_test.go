//go:build linux

package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// all lists the distinct trees with the models that allow them.
func all(d *disk, opts Options) map[string]Models {
	opts.Most = 1 << 20
	states, _ := d.enumerate(opts)
	out := make(map[string]Models)
	for _, s := range states {
		key := shown(d, s)
		if !opts.Silent {
			key += fmt.Sprintf(" said %q", d.saidBefore(s.Point))
		}
		out[key] |= s.Models
	}
	return out
}

// The whole set of a small record, by hand.
func TestAllStates(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"write and rename without a sync", "create a 5\nwrite 5 0 new\nrename a f 5", `
a= d/ f=                 never
a= d/ f=old              process death, strict, linux, ext4
a=___ d/ f=old           strict, linux, ext4
a=new d/ f=old           process death, strict, linux, ext4
d/ f=                    strict, linux
d/ f=___                 strict, linux
d/ f=new                 process death, strict, linux, ext4
d/ f=old                 process death, strict, linux, ext4`},
		{"repaired", "create a 5\nwrite 5 0 new\nsync 5\nrename a f 5\nsync 1", `
a= d/ f=old              process death, strict, linux, ext4
a=___ d/ f=old           strict, linux, ext4
a=new d/ f=old           process death, strict, linux, ext4
d/ f=new                 process death, strict, linux, ext4
d/ f=old                 process death, strict, linux, ext4`},
	} {
		d := script(t, c.script)
		got := all(d, Options{Model: Strict, Silent: true})
		for line := range strings.Lines(strings.TrimSpace(c.want)) {
			tree, models := strings.TrimSpace(line[:24]), strings.TrimSpace(line[24:])
			if models == "never" {
				if m, ok := got[tree]; ok {
					t.Errorf("%s: %q is allowed by %v", c.name, tree, m)
				}
				continue
			}
			if got[tree].String() != models {
				t.Errorf("%s: %q is allowed by %q, want %q", c.name, tree, got[tree], models)
			}
			delete(got, tree)
		}
		if len(got) > 0 {
			t.Errorf("%s: too many: %q", c.name, slices.Sorted(maps.Keys(got)))
		}
	}
}

// Acknowledged before synced: some state has the acknowledgement and not the data.
func TestAcknowledged(t *testing.T) {
	broken := func(script2 string) bool {
		d := script(t, script2)
		for tree := range all(d, Options{Model: Strict}) {
			if strings.Contains(tree, `said "ok"`) && !strings.Contains(tree, "f=oldnew") {
				return true
			}
		}
		return false
	}
	if !broken("write 3 3 new\nsay ok\nsync 3") {
		t.Error("an acknowledgement before the sync went unnoticed")
	}
	if broken("write 3 3 new\nsync 3\nsay ok") {
		t.Error("an acknowledgement after the sync is called broken")
	}
}

// Of four files two are lost and two are kept: only --depth 2 looks at that.
func TestPairs(t *testing.T) {
	const four = "create a 5\ncreate b 6\ncreate c 7\ncreate e 8\nsync 1\nwrite 5 0 x\nwrite 6 0 x\nwrite 7 0 x\nwrite 8 0 x"
	for tree, choice := range map[string]string{
		"a= b=x c= d/ e=x f=old":   "at the end, lost: write a#1; write c#1",
		"a=_ b=x c= d/ e=x f=old":  "at the end, size only: write a#1, lost: write c#1",
		"a=_ b=x c=_ d/ e=x f=old": "at the end, size only: write a#1; write c#1",
	} {
		d := script(t, four)
		if _, ok := all(d, Options{Model: Strict, Silent: true})[tree]; ok {
			t.Errorf("%q at depth 1", tree)
		}
		states, counts := d.enumerate(Options{Model: Strict, Silent: true, Depth: 2, Most: 1 << 20})
		i := slices.IndexFunc(states, func(s *State) bool { return strings.ReplaceAll(shown(d, s), "\x00", "_") == tree })
		if i < 0 {
			t.Fatalf("no %q at depth 2", tree)
		}
		if got := d.print(states[i]); got != choice {
			t.Errorf("%q comes of %q, not of %q", tree, got, choice)
		}
		if counts.Left != 0 {
			t.Errorf("%d left out", counts.Left)
		}
	}
}

// Too many pairs are counted, and the states are those of depth 1 and more.
func TestPairsAreBounded(t *testing.T) {
	d := script(t, writes(42))
	_, one := d.enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20})
	_, two := d.enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20, Depth: 2})
	if two.Left <= one.Left || two.Distinct <= one.Distinct || two.Generated > 8*mostPairs {
		t.Errorf("depth 1: %+v, depth 2: %+v", one, two)
	}
}

// What a cap cuts off is counted. Where a long write is torn is a choice, and is told
// apart from that.
func TestWhatIsLeftOut(t *testing.T) {
	for text, want := range map[string]Counts{
		writes(20):          {Operations: 20},
		"fill 3 0 413695 x": {Operations: 1, Untorn: 50},
		"fill 3 0 200000 x": {Operations: 1},
	} {
		_, got := script(t, text).enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20})
		want.Generated, want.Distinct, want.Impossible = got.Generated, got.Distinct, got.Impossible
		if got != want {
			t.Errorf("%.20s: %+v, not %+v", text, got, want)
		}
	}
	if _, got := script(t, writes(20)).enumerate(Options{Model: Strict, Silent: true, Most: 5}); got.Distinct != 5 || got.Left == 0 {
		t.Errorf("at most 5 states: %+v", got)
	}
	// The window holds 150 of 200 events. Behind them each point has one more that is
	// not lost alone; at the end they are not kept alone, either.
	e := &enumeration{d: script(t, writes(200))}
	for point := 1; point <= 200; point++ {
		e.pending = e.d.pending(point)
		e.late(e.fresh(point))
	}
	if want := 50*51/2 + 50; e.counts.Left != want {
		t.Errorf("%d left out of 200 events, not %d", e.counts.Left, want)
	}
}

// writes are so many writes to one file, none of them synced.
func writes(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "write 3 %d x\n", i*sector)
	}
	return text.String()
}

// linux and ext4 allow less, and what they allow strict does, too.
func TestModelsNest(t *testing.T) {
	d := script(t, "create a 5\nwrite 5 0 one\ncreate b 6\nwrite 6 0 two\nsync 6\nrename a f 5")
	n := make(map[Models]int)
	for tree, m := range all(d, Options{Model: Strict, Silent: true}) {
		for _, weaker := range [][2]Models{{Ext4, Linux}, {Linux, Strict}, {Death, Ext4}} {
			if m&weaker[0] != 0 && m&weaker[1] == 0 {
				t.Errorf("%q is allowed by %v", tree, m)
			}
		}
		for _, one := range []Models{Strict, Linux, Ext4} {
			if m&one != 0 {
				n[one]++
			}
		}
	}
	if !(n[Strict] > n[Linux] && n[Linux] > n[Ext4]) {
		t.Errorf("states by model: %v", n)
	}
	for model, want := range n {
		if got := len(all(d, Options{Model: model, Silent: true})); got != want {
			t.Errorf("enumerated for %v alone there are %d, else %d", model, got, want)
		}
	}
}

// A write is torn where pages of the file begin if the program dies in it, and at
// sectors if the power goes.
func TestTorn(t *testing.T) {
	d := script(t, "fill 3 4000 9000 x")
	states, _ := d.enumerate(Options{Model: Strict, Silent: true, Most: 1000})
	var within, torn []string
	for _, s := range states {
		switch {
		case s.Part > 0:
			within = append(within, fmt.Sprint(s.Part))
		case !s.Dies && d.fates(s)[0].fate == Head:
			torn = append(torn, fmt.Sprint(d.fates(s)[0].at))
		}
	}
	if got := strings.Join(within, " "); got != "96 4192 8288" {
		t.Errorf("torn by death after %s", got)
	}
	if got := strings.Join(torn, " "); got != "8800" { // the others are also deaths
		t.Errorf("torn by the power after %s", got)
	}
}

// Every state can be written down and read back.
func TestChoices(t *testing.T) {
	d := script(t, "create a, 5\nfill 5 0 9000 x\nsay ok\nrename a, it's#1 5\nmkdir e 6\nwrite 3 1 y\nsize 3 1\nsync 4\nsay ok")
	states, _ := d.enumerate(Options{Model: Strict, Most: 10000})
	if len(states) < 50 {
		t.Fatalf("only %d states", len(states))
	}
	for _, s := range states {
		choice := d.print(s)
		back, err := d.parse(choice)
		if err != nil {
			t.Errorf("%s: %v", choice, err)
			continue
		}
		if d.print(back) != choice || shown(d, back) != shown(d, s) {
			t.Errorf("%s reads back as %s", choice, d.print(back))
		}
		if _, err := Parse(choice); err != nil {
			t.Errorf("without the record, %s: %v", choice, err)
		}
	}
}

func TestBadChoices(t *testing.T) {
	d := script(t, "create a 5\nwrite 5 0 x")
	for choice, want := range map[string]string{
		"":                            "want 'after EVENT'",
		"after":                       "want 'after EVENT'",
		"after write":                 "want one such as",
		"after write a#2":             "holds no write a#2",
		"after write a#1, lost":       "want a fate",
		"after write a#1, gone: all":  "want kept, lost",
		"after write a#1, head: all":  "want kept, lost",
		"within write a#1 at 0":       "above 0",
		"within write a#1 at 9":       "more than 9 bytes",
		"after write a#1, lost: some": "want one such as",
	} {
		if _, err := d.parse(choice); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", choice, err, want)
		}
	}
}

// States do not grow without bound where each step is made durable.
func TestGrowth(t *testing.T) {
	synced := func(n int) int {
		var b strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&b, "write 3 %d x\nsync 3\n", 3+i)
		}
		d := script(t, b.String())
		states, _ := d.enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20})
		return len(states)
	}
	if a, b := synced(50), synced(100); b > 3*a {
		t.Errorf("%d states for 50 operations, %d for 100", a, b)
	}
}

// Which models allow a single state.
func TestModels(t *testing.T) {
	const replace = "create a 5\nwrite 5 0 new\nrename a f 5"
	for _, c := range []struct{ script, choice, want string }{
		{"create a 5\ncreate b 6", "at the end", "process death, strict, linux, ext4"},
		{"create a 5\ncreate b 6", "at the end, lost: create b#1", "strict, linux, ext4"},
		{"create a 5\ncreate b 6", "at the end, lost: create a#1", "strict, linux"},
		{"create a 5\ncreate b 6\nsync 6", "at the end, lost: create b#1", "strict"},
		{"create a 5\ncreate b 6\nsync 6", "at the end, lost: create a#1", "strict, linux"},
		{replace, "at the end, lost: rename f#1", "strict, linux, ext4"},
		{replace, "at the end, lost: data", "strict, linux"},
		{replace, "after write a#1, lost: data", "strict, linux, ext4"},
		{"create a 5\nwrite 5 0 new\nrename a b 5", "at the end, lost: data", "strict, linux, ext4"},
		{"write 3 0 x\nfailsync 3\nsync 3", "at the end, lost: data", "strict, linux, ext4"},
		{"fill 3 0 9000 x", "within write f#1 at 4096", "process death, strict, linux, ext4"},
		{"fill 3 0 9000 x", "within write f#1 at 100", "process death"},
	} {
		s, err := script(t, c.script).parse(c.choice)
		if err != nil {
			t.Errorf("%s: %v", c.choice, err)
		} else if s.Models.String() != c.want {
			t.Errorf("%q, %s: allowed by %v, want %s", c.script, c.choice, s.Models, c.want)
		}
	}
}
