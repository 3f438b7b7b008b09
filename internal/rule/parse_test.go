package rule

import (
	"errors"
	"strings"
	"testing"

	"faultlab/internal/op"
)

func TestParsePrintsCanonically(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"on write path=run.lock nth=1 do fail ENOSPC", "on write path=run.lock nth=1 do fail ENOSPC"},
		{"write nth=1 path=run.lock do fail ENOSPC", "on write path=run.lock nth=1 do fail ENOSPC"},
		{"on\twrite  path=**/*.jsonl nth=3..   do short 7 fail ENOSPC # why\n", "on write path=**/*.jsonl nth=3.. do short 7 fail ENOSPC"},
		{"on create path=*.lock do kill after", "on create path=*.lock do kill after"},
		{"on write path=store.db nth=2 do kill mid 100", "on write path=store.db nth=2 do kill mid 100"},
		{"on write path=store.db nth=1 do hold mark=held until=go", "on write path=store.db nth=1 do hold until=go mark=held"},
		{"on sync do fail EIO", "on sync do fail EIO"},
		{"on write budget=65536 path=out/** do fail ENOSPC", "on write path=out/** budget=65536 do fail ENOSPC"},
		{"on rename path=champion.json do delay 0.05s", "on rename path=champion.json do delay 50ms"},
		{"on mutate actor=B proc=work* nth=2..9 do kill process", "on mutate nth=2..9 proc=work* actor=B do kill process"},
		{"kill process mid 3", ""},
		{"pwrite64 do kill process mid 3", "on pwrite64 do kill process mid 3"},
		{"stat do kill process after", "on stat do kill process after"},
		{"write nth=4..4 do signal TERM", "on write nth=4 do signal SIGTERM"},
		{"write nth=007 do signal SIGPOLL", "on write nth=7 do signal SIGIO"},
		{"write nth=1.. do fail EWOULDBLOCK", "on write nth=1.. do fail EAGAIN"},
		{"on write 'path=a b' do hold until='it''s'", "on write path='a b' do hold until='it''s'"},
		{"on write path='#1'# not the name\n", ""},
		{"on write path='#1' do kill# not the name", "on write path='#1' do kill"},
		{"on write path='two\nlines' do kill", "on write path='two\nlines' do kill"},
		{"on connect path=./sock do fail ECONNREFUSED", "on connect path=./sock do fail ECONNREFUSED"},
		{"on open path=/ do fail EIO", "on open path=/ do fail EIO"},
		{"on open path=. do fail EIO", "on open path=. do fail EIO"},
		{"on open path=/etc/{a,b}[{}]{7}.{1} do fail EIO", "on open path=/etc/{a,b}[{}]{7}.{1} do fail EIO"},
	} {
		r, err := Parse(c.text)
		if c.want == "" {
			if err == nil {
				t.Errorf("Parse(%q) = %q, want an error", c.text, r)
			}
			continue
		}
		if err != nil || r.String() != c.want {
			t.Errorf("Parse(%q) = %q, %v\nwant %q", c.text, r, err, c.want)
		}
	}
}

type badText struct{ text, want string }

func checkBad(t *testing.T, cases []badText) {
	for _, c := range cases {
		_, err := Parse(c.text)
		checkError(t, c.text, err, "rule "+quoteGo(c.text)+": "+c.want)
	}
}

func TestSelectorErrors(t *testing.T) {
	const kinds = "kinds: open, create, read, readdir, stat, write, sync, truncate, allocate, rename, link, " +
		"unlink, mkdir, rmdir, attr, lock, close, chdir, connect; mutate; or a system call's name"
	const twoHalves = `expected each [, { and } to have its other half, no empty class, and no \ at the end`
	checkBad(t, []badText{
		{"", "col 1: expected an operation (" + kinds + ")"},
		{"on", "col 3: expected an operation (" + kinds + ")"},
		{"wirte path=x do fail EIO", `col 1: unknown operation "wirte": did you mean "write"? (` + kinds + ")"},
		{"on openta do fail EIO", `col 4: unknown operation "openta": did you mean "openat"? (` + kinds + ")"},
		{"on none do fail EIO", `col 4: unknown operation "none" (` + kinds + ")"},
		{"on write fail EIO", `col 10: expected a key (path=, nth=, proc=, actor=, budget=, mode=, lock=) or "do", found "fail"`},
		{"on write pth=x do kill", `col 10: unknown key "pth": did you mean "path"? (keys: path, nth, proc, actor, budget, mode, lock)`},
		{"on write no=1 do kill", `col 10: unknown key "no" (keys: path, nth, proc, actor, budget, mode, lock)`},
		{"on write colour=x do kill", `col 10: unknown key "colour" (keys: path, nth, proc, actor, budget, mode, lock)`},
		{"on write nth=1 path=x nth=2 do kill", `col 23: duplicate key "nth"`},
		{"on write path=x", `col 16: expected "do" and an action (fail, short, kill, signal, delay, hold)`},
		{"on write nth=0 do kill", `col 10: bad nth "0": expected N, N.. or N..M, a whole number from 1`},
		{"on write nth=-1 do kill", `col 10: bad nth "-1": expected N, N.. or N..M, a whole number from 1`},
		{"on write nth=1..0 do kill", `col 10: bad nth "1..0": expected N, N.. or N..M, a whole number from 1`},
		{"on write nth=5..3 do kill", `col 10: bad nth "5..3": it ends before it begins: expected N..M with M at least N`},
		{"on write nth=99999999999999999999 do kill", `col 10: bad nth "99999999999999999999": expected N, N.. or N..M, at most 2147483647`},
		{"on write nth=2147483648 do kill", `col 10: bad nth "2147483648": expected N, N.. or N..M, at most 2147483647`},
		{"on write actor=a do kill", `col 10: bad actor "a": expected one letter from A to Z`},
		{"on write path= do kill", `col 10: path= needs a glob`},
		{"on write path=a[ do kill", `col 10: bad glob "a[": ` + twoHalves},
		{"on write path=a{b do kill", `col 10: bad glob "a{b": ` + twoHalves},
		{`on write path=a\ do kill`, `col 10: bad glob "a\\": ` + twoHalves},
		{"on write path=out/ do kill", `col 10: bad glob "out/": it matches no path: expected no empty name, no . and no .. between slashes`},
		{"on write path=../x do kill", `col 10: bad glob "../x": it matches no path: expected no empty name, no . and no .. between slashes`},
		{"on write path=x.{0} do kill", `col 10: bad glob "x.{0}": expected placeholders from {1} to {65535}`},
		{"on write path={a,x.{1}} do kill", `col 10: bad glob "{a,x.{1}}": a placeholder cannot stand within an alternation`},
		{"on write proc= do kill", `col 10: proc= needs a glob`},
		{"on write proc=[ do kill", `col 10: bad glob "[": ` + twoHalves},
		{"on write proc=bin/sh do kill", `col 10: bad glob "bin/sh": proc is a program's base name: expected no slash`},
		{"on write proc=sh{1} do kill", `col 10: bad glob "sh{1}": a placeholder such as {1} stands in path only`},
		{"on write mode=a do kill", `col 10: bad mode "a": expected r, w or rw: how the file was opened`},
		{"on write mode= do kill", `col 10: bad mode "": expected r, w or rw: how the file was opened`},
		{"on rename mode=r do kill", `col 11: mode needs an operation on an open file, or one that opens, not "rename"`},
		{"on lock lock=x do kill", `col 9: bad lock "x": expected sh or ex: shared or exclusive`},
		{"on write lock=ex do kill", `col 10: lock= needs lock, flock or fcntl, not "write"`},
		{"on write budget=0 do fail EIO", `col 10: bad budget "0": expected bytes, a whole number from 1`},
		{"on write budget=64k do fail EIO", `col 10: bad budget "64k": expected bytes, a whole number from 1`},
		{"on write budget=9 do kill", `col 22: budget needs the action "fail ERRNO", not "kill"`},
		{"on write nth=2 budget=9 do fail EIO", `col 16: budget and nth cannot stand together: a budget counts bytes, nth counts operations`},
		{"on mutate budget=9 do fail EIO", `col 11: budget needs write, or a system call that writes, not "mutate"`},
		{"on write path='a do kill", `col 15: this quote is never closed: expected another '`},
		{"on sync do kill\non sync do kill", `col 1: expected one rule, found another on line 2`},
	})
}

func TestActionErrors(t *testing.T) {
	const actions = "actions: fail, short, kill, signal, delay, hold"
	checkBad(t, []badText{
		{"on write do # nothing", `col 12: expected an action after "do" (` + actions + ")"},
		{"on write do fial EIO", `col 13: unknown action "fial": did you mean "fail"? (` + actions + ")"},
		{"on write do explode", `col 13: unknown action "explode" (` + actions + ")"},
		{"on write do fail", `col 17: expected "fail ERRNO [stay]", found its end`},
		{"on write do fail ENOSPACE", `col 18: unknown errno "ENOSPACE": did you mean "ENOSPC"?`},
		{"on write do fail enospc", `col 18: unknown errno "enospc": did you mean "ENOSPC"?`},
		{"on write do fail 28", `col 18: unknown errno "28" (want one such as ENOSPC, EIO or EACCES)`},
		{"on write do fail EIO now", `col 22: unexpected "now": expected no more than "fail ERRNO [stay]"`},
		{"on write do fail EIO stays", `col 22: unexpected "stays": expected no more than "fail ERRNO [stay]"`},
		{"on write do short 7 stay", `col 21: unexpected "stay": expected no more than "short K [fail ERRNO [stay]]"`},
		{"on write do kill stay", `col 18: unexpected "stay": expected no more than "kill [process] [after | mid K]"`},
		{"on write do short", `col 18: expected "short K [fail ERRNO [stay]]", found its end`},
		{"on write do short 0", `col 19: bad number "0": expected bytes, a whole number from 1`},
		{"on write do short 7 fail", `col 25: expected "short K [fail ERRNO [stay]]", found its end`},
		{"on write do short 7 kill", `col 21: unexpected "kill": expected no more than "short K [fail ERRNO [stay]]"`},
		{"on rename do short 7", `col 14: short needs an operation that moves bytes (read, write, mutate, or such a system call), not "rename"`},
		{"on write do kill mid", `col 21: expected "kill [process] [after | mid K]", found its end`},
		{"on write do kill mid -5", `col 22: bad number "-5": expected bytes, a whole number from 1`},
		{"on write do kill after process", `col 24: unexpected "process": expected no more than "kill [process] [after | mid K]"`},
		{"on pread64 do kill mid 5", `col 15: kill mid needs an operation that writes (write, mutate, or such a system call), not "pread64"`},
		{"on write do signal SIGTREM", `col 20: unknown signal "SIGTREM": did you mean "SIGTERM"?`},
		{"on write do delay 50", `col 19: bad delay "50": expected a time above 0 with its unit, such as 50ms or 2s`},
		{"on write do delay -1s", `col 19: bad delay "-1s": expected a time above 0 with its unit, such as 50ms or 2s`},
		{"on write do delay 0s", `col 19: bad delay "0s": expected a time above 0 with its unit, such as 50ms or 2s`},
		{"on write do hold", `col 17: hold needs until=FILE: expected "hold until=FILE [mark=FILE]"`},
		{"on write do hold mark=m", `col 24: hold needs until=FILE: expected "hold until=FILE [mark=FILE]"`},
		{"on write do hold until=", `col 18: until= needs a file`},
		{"on write do hold untl=x", `col 18: unknown key "untl": did you mean "until"? (keys: until, mark)`},
		{"on write do hold until=a until=b", `col 26: duplicate key "until"`},
		{"on write do hold until=a go", `col 26: unexpected "go": expected "hold until=FILE [mark=FILE]"`},
	})
}

func quoteGo(s string) string {
	e := SyntaxError{Text: s}
	return strings.TrimSuffix(strings.TrimPrefix(e.Error(), "rule "), ": col 0: ")
}

func checkError(t *testing.T, text string, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
	}
	if err != nil && (strings.Count(err.Error(), "\n") > 0 || strings.HasPrefix(err.Error(), "col")) {
		t.Errorf("%q: the error is not one whole line: %q", text, err)
	}
}

func TestParseFile(t *testing.T) {
	const text = `# two rules
on write path=run.lock nth=1 do fail ENOSPC

   on sync do fail EIO	# the second
`
	rules, err := ParseFile("rules", text)
	if err != nil || len(rules) != 2 {
		t.Fatalf("got %v, %v; want two rules", rules, err)
	}
	if want := (Pos{"rules", 4, 4}); rules[1].Pos != want {
		t.Errorf("the second stands at %v, want %v", rules[1].Pos, want)
	}
	if rules, err := ParseFile("empty", "# nothing\n\n"); err != nil || len(rules) != 0 {
		t.Errorf("a file without rules: got %v, %v", rules, err)
	}
}

func TestParseFileErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"write do kill", `rules:1:1: expected "on", found "write"`},
		{"on sync do kill\n  on write path=x nth=0 do kill", `rules:2:19: bad nth "0": expected N, N.. or N..M, a whole number from 1`},
		{"on write path='a\nb' do klil", `rules:2:7: unknown action "klil": did you mean "kill"? (actions: fail, short, kill, signal, delay, hold)`},
		{"on sync do\non sync do kill", `rules:1:11: expected an action after "do" (actions: fail, short, kill, signal, delay, hold)`},
		{"\non write path=x do 'kill", `rules:2:20: this quote is never closed: expected another '`},
		{"on write path=x nth=1..3 do kill\non write nth=3.. path=x do fail EIO",
			`rules:2:1: "on write path=x nth=3.. do fail EIO" overlaps "on write path=x nth=1..3 do kill" on line 1, which comes first`},
	} {
		_, err := ParseFile("rules", c.text)
		checkError(t, c.text, err, c.want)
	}
}

func TestCheckSet(t *testing.T) {
	const overlap = `rule "on sync nth=2 do kill" overlaps rule "on sync do fail EIO", which comes first`
	for _, c := range []struct {
		rules []string
		want  string
	}{
		{[]string{"sync do fail EIO", "sync nth=2 do kill"}, overlap},
		{[]string{"sync nth=2 do kill", "sync nth=3.. do kill"}, ""},
		{[]string{"sync nth=1..2 do kill", "write nth=2 do kill"}, ""},
		{[]string{"sync nth=1 do fail EIO stay", "sync nth=2 do kill"},
			`rule "on sync nth=2 do kill" overlaps rule "on sync nth=1 do fail EIO stay", which comes first`},
		{[]string{"sync nth=3 do fail EIO stay", "sync nth=2 do kill"}, ""},
		{[]string{"open nth=1 do fail EACCES stay", "open nth=2 do kill"}, ""},
		{[]string{"write nth=1 do short 7 fail ENOSPC stay", "write nth=2 do kill"}, ""},
		{[]string{"sync path=a do kill", "sync path=b do kill"}, ""},
		{[]string{"sync actor=A do kill", "sync actor=B do kill"}, ""},
		{[]string{"write budget=9 do fail EIO", "write do fail EIO"}, ""},
		{[]string{"sync nth=5.. do kill", "sync nth=1..4 do kill"}, ""},
	} {
		var rules []Rule
		for _, text := range c.rules {
			rules = append(rules, mustParse(t, text))
		}
		err := CheckSet(rules)
		if err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.rules, err, c.want)
		}
		var o *OverlapError
		if c.want != "" && !errors.As(err, &o) {
			t.Errorf("%q: %T is no *OverlapError", c.rules, err)
		}
	}
}

func TestCheckSetTakesAnyBudgetBelowOneForNone(t *testing.T) {
	a, b := mustParse(t, "write do kill"), mustParse(t, "write do kill")
	b.Budget = -1
	if CheckSet([]Rule{a, b}) == nil {
		t.Error("no overlap found")
	}
}

func mustParse(t testing.TB, text string) Rule {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseSelector(t *testing.T) {
	s, err := ParseSelector("write nth=2 path='a b' actor=A")
	if want := "write path='a b' nth=2 actor=A"; err != nil || s.String() != want {
		t.Errorf("got %q, %v; want %q", s, err, want)
	}
	for text, want := range map[string]string{
		"":                     "expected an operation",
		"write nth=1 do kill":  `col 13: unexpected "do": expected a selector alone`,
		"write nth=1 budget=3": "budget and nth cannot stand together",
		"write nth":            "expected a key",
	} {
		if s, err := ParseSelector(text); err == nil || !strings.Contains(err.Error(), want) || s != (Selector{}) {
			t.Errorf("%q: got %v, %v; want %q", text, s, err, want)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, c := range []struct{ text, has, hasNot string }{
		{"write", "pwrite64 write sendfile", "read openat"},
		{"mutate", "write openat rename", "read close"},
		{"pwrite64", "pwrite64", "write"},
		{"write path=tmp.{1}", "write openat rename newfstatat", "read close fsync"},
		{"close path=tmp.{1}", "close openat", "read"},
	} {
		s, err := ParseSelector(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := " " + strings.Join(s.Calls(), " ") + " "
		for _, name := range strings.Fields(c.has) {
			if !strings.Contains(got, " "+name+" ") {
				t.Errorf("%s: calls lack %s", c.text, name)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if strings.Contains(got, " "+name+" ") {
				t.Errorf("%s: calls hold %s", c.text, name)
			}
		}
	}
}

// A rule that stays needs to see all that its state fails.
func TestCallsOfStates(t *testing.T) {
	for _, c := range []struct{ text, has, hasNot string }{
		{"write do fail ENOSPC", "write", "openat"},
		{"write do fail ENOSPC stay", "write openat mkdir linkat rename fallocate", "read unlink close fsync"},
		{"write do short 7 fail EDQUOT stay", "write openat", "unlink"},
		{"write do short 7", "write", "openat"},
		{"chmod do fail EROFS stay", "chmod write openat unlink ftruncate", "read fsync flock"},
		{"open do fail EIO stay", "open read getdents64", "write fsync"},
		{"fsync do fail EIO stay", "fsync write rename", "read close"},
		{"openat do fail EMFILE stay", "openat open creat", "write"},
		{"close do fail EIO stay", "close", "write read"},
		{"flock do fail ENOLCK stay", "flock fcntl", "write"},
		{"stat do fail EACCES stay", "newfstatat", "openat"},
	} {
		got := " " + strings.Join(mustParse(t, c.text).Calls(), " ") + " "
		for _, name := range strings.Fields(c.has) {
			if strings.Count(got, " "+name+" ") != 1 {
				t.Errorf("%s: calls lack %s, or hold it twice", c.text, name)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if strings.Contains(got, " "+name+" ") {
				t.Errorf("%s: calls hold %s", c.text, name)
			}
		}
	}
}

func TestAt(t *testing.T) {
	for _, c := range []struct {
		point op.Point
		want  string
	}{
		{op.Point{Kind: op.Write, Path: "run.lock", Nth: 2}, "write path=./run.lock nth=2"},
		{op.Point{Kind: op.Sync, Path: "a/b", Nth: 1, Actor: 'B'}, "sync path=a/b nth=1 actor=B"},
		{op.Point{Kind: op.Open, Path: "a/x*[1]{b}.{2}", Nth: 1}, `open path=a/x\*\[1\]\{b\}.{2} nth=1`},
		{op.Point{Kind: op.Open, Path: ".", Nth: 1}, "open path=. nth=1"},
		{op.Point{Kind: op.Open, Path: "/etc/x", Nth: 1}, "open path=/etc/x nth=1"},
	} {
		if got := At(c.point).String(); got != c.want {
			t.Errorf("At(%v) = %s, want %s", c.point, got, c.want)
		}
	}
}
