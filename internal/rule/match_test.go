package rule

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"faultlab/internal/op"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// TestDecide plays each file of testdata/decide: rules, a line "--", and
// operations, each followed by what the matcher decides.
func TestDecide(t *testing.T) {
	files, err := filepath.Glob("testdata/decide/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { playGolden(t, file) })
	}
}

func playGolden(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	head, ops, ok := strings.Cut(text, "\n--\n")
	if !ok {
		t.Fatalf("%s has no line --", file)
	}
	rules, err := ParseFile(file, head)
	if err != nil {
		t.Fatal(err)
	}
	got := head + "\n--\n" + play(t, NewMatcher("/tree", rules), ops)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if got != text {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, text)
	}
}

// play writes each operation with its decision, and at the end what never fired.
func play(t *testing.T, m *Matcher, ops string) string {
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(ops), "\n") {
		l, _, _ = strings.Cut(l, "->")
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "unfired:") {
			continue
		}
		o := readOp(t, l)
		act, r := m.Decide(&o)
		said := "."
		if r != nil {
			said = fmt.Sprintf("%s (line %d)", act, r.Pos.Line)
		}
		fmt.Fprintf(&b, "%-36s -> %s\n", l, said)
	}
	for _, r := range m.Unfired() {
		fmt.Fprintf(&b, "unfired: %s\n", r)
	}
	return b.String()
}

// readOp reads "CALL[:KIND[+KIND]] PATH [to=PATH] [size=N] [proc=P] [script=P] [actor=A] [mode=M] [lock=H] [exists] [writes]".
func readOp(t *testing.T, text string) op.Op {
	t.Helper()
	f := strings.Fields(text)
	call, kinds, typed := strings.Cut(f[0], ":")
	kind, _ := op.CallKind(call)
	o := op.Op{Actor: 'A', Call: call, Kind: kind, Off: -1, Size: -1}
	if typed {
		first, second, _ := strings.Cut(kinds, "+")
		o.Kind, _ = op.ParseKind(first)
		o.Also, _ = op.ParseKind(second)
	}
	if o.Path = f[1]; o.Path == "-" {
		o.Path = ""
	}
	for _, w := range f[2:] {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "to":
			o.To = value
		case "size":
			o.Size, _ = strconv.ParseInt(value, 10, 64)
		case "proc":
			o.Proc = value
		case "script":
			o.Script = value
		case "exists":
			o.Exists = true
		case "writes":
			o.Writes = true
		case "actor":
			o.Actor = value[0]
		case "mode":
			o.Mode, _ = op.ParseMode(value)
		case "lock":
			o.Hold, _ = op.ParseHold(value)
		default:
			t.Fatalf("bad operation %q", text)
		}
	}
	return o
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ glob, yes, no string }{
		{"run.lock", "run.lock a/run.lock a/b/run.lock", "run.lock2 /etc/run.lock run.lock/x"},
		{"*.lock", "a.lock b/a.lock .lock", "a.lock/x /etc/a.lock a.lock2"},
		{"./run.lock", "run.lock", "a/run.lock /run.lock"},
		{"./*.lock", "run.lock", "a/run.lock /tree/run.lock"},
		{"a/x", "a/x", "x b/a/x /a/x"},
		{"**/x", "x a/x a/b/x", "/x /a/x ax"},
		{"out/**", "out out/a out/a/b", "outer /out/a a/out/a"},
		{"{a,b}/x", "a/x b/x", "c/x x"},
		{"x{1,2}", "x1 a/x2", "x3 x"},
		{"x{a,b/c}", "xa xb/c", "d/xa d/xb/c"},
		{".", ".", "x a/x"},
		{"*", ". x a/x", "/x"},
		{"**", ". x a/x", "/x"},
		{"/tree/x", "x", "a/x /x"},
		{"/tree", ".", "x /tree2"},
		{"/tree/*", "x y", "a/x /etc/x ."},
		{"/tree/**", "x a/y .", "/etc/x"},
		{"/etc/pass*", "/etc/passwd", "passwd /etc/x/passwd"},
		{"/etc/x", "/etc/x", "x etc/x"},
		{"/treehouse", "/treehouse", "house"},
		{`a\*b`, "a*b x/a*b", "axb"},
		{`d/a\[1\]`, "d/a[1]", "d/a1"},
		{"[!a]x", "bx", "ax"},
		{"t.{1}", "t.9", "t t."},
		{"/tree/t.{1}", "t.9", "t /t.9"},
		{"/var/t.{1}", "/var/t.9", "t.9"},
		{"d/{1}/x", "d/9/x", "d/x d/a/b/x"},
		{"**/{1}.d/**", "9.d/x a/9.d/y 9.d", ".d/x"},
		{"*-{1}.*", "a-b.c a-b.d", "-b"},
		{`\{1\}`, "{1}", "1 x"},
		{"[{1}]", "{ 1 }", "2"},
		{`[\]{1}]x`, "]x {x", "2x"},
	} {
		match := matchPath(c.glob, "/tree")
		for _, name := range strings.Fields(c.yes) {
			for range 2 { // the second answer may come from memory
				if !match(name) {
					t.Errorf("%s does not match %s", c.glob, name)
				}
			}
		}
		for _, name := range strings.Fields(c.no) {
			if match(name) {
				t.Errorf("%s matches %s", c.glob, name)
			}
		}
	}
}

func TestHolesKeepOnlyWhatTheyNeed(t *testing.T) {
	h := newHoles("t.{2}")
	for i := range 10 {
		h.match("t." + strconv.Itoa(i))
	}
	if got := strings.Join(h.places[0].values, " "); got != "0 1" {
		t.Errorf("kept %s, want 0 1", got)
	}
}

func TestAbsoluteInRoot(t *testing.T) {
	for glob, name := range map[string]string{"/x": "x", "/": ".", "/*": "x"} {
		if !matchPath(glob, "/")(name) {
			t.Errorf("in a tree at /, %s does not match %s", glob, name)
		}
	}
}

func TestRememberIsBounded(t *testing.T) {
	asked := 0
	match := remember(func(string) bool { asked++; return true })
	for range 2 {
		for i := range remembered {
			match(strconv.Itoa(i))
		}
	}
	if asked != remembered {
		t.Errorf("asked %d times for %d names", asked, remembered)
	}
	match("one more")
	match("0")
	if asked != remembered+2 {
		t.Errorf("more than %d names are kept", remembered)
	}
}

func TestNewMatcherPanicsOnWhatDoesNotParse(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a rule with a broken glob was taken")
		}
	}()
	NewMatcher("/tree", []Rule{{Selector: Selector{Word: "write", Path: "["}, Action: Action{Verb: DoKill}}})
}

func TestBudgetBelowOneIsNone(t *testing.T) {
	r := Rule{Selector: Selector{Word: "write", Budget: -1}, Action: Action{Verb: DoFail, Errno: 5}}
	o := readOp(t, "write f size=1")
	if act, _ := NewMatcher("/tree", []Rule{r}).Decide(&o); act.Verb != DoFail {
		t.Errorf("got %s, want the failure", act)
	}
}
