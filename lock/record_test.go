package lock

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := newRecord(designCreate, Options{Command: rapid.String().Draw(t, "command")})
		r.Host = rapid.String().Draw(t, "host")
		line := r.line()
		if strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("not one line: %q", line)
		}
		got, err := parseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		if got != r {
			t.Fatalf("wrote %+v, read %+v", r, got)
		}
		cut := rapid.IntRange(0, len(line)-1).Draw(t, "cut")
		var half halfMade
		if _, err := parseRecord(line[:cut]); !errors.As(err, &half) {
			t.Fatalf("%d of %d bytes read as %v", cut, len(line), err)
		}
	})
}

func TestParseRecord(t *testing.T) {
	t.Parallel()
	good := string(Record{Version: 1, Token: strings.Repeat("0a", 16), PID: 7}.line())
	rows := []struct{ in, says string }{
		{good, ""},
		{"", "empty"},
		{"\n", "not a lock record"},
		{"12", "2 bytes of a record, without its end"},
		{"12\n", "not a lock record"},
		{"null\n", "not a lock record"},
		{"{}\n", "not a lock record"},
		{good + good, "not a lock record"},
		{strings.Replace(good, `"version":1`, `"version":2`, 1), "written by a newer version (2) of this program"},
		{strings.Replace(good, `"pid":7`, `"pid":0`, 1), "not a lock record"},
		{strings.Replace(good, `"pid":7`, `"pid":-1`, 1), "not a lock record"},
		{strings.Replace(good, "0a", "0A", 1), "not a lock record"},
		{strings.Repeat(" ", maxRecord) + "\n", "longer than 16384 bytes: not a lock record"},
	}
	for _, row := range rows {
		_, err := parseRecord([]byte(row.in))
		if err == nil && row.says != "" || err != nil && err.Error() != row.says {
			t.Errorf("%q: %v, want %q", row.in, err, row.says)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("{\"version\":1,\"token\":\"00000000000000000000000000000000\",\"pid\":1}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRecord(b); err == nil && (!isRecordToken(r.Token) || r.PID <= 0) {
			t.Errorf("accepted %+v", r)
		}
	})
}

func TestLongCommandIsCut(t *testing.T) {
	t.Parallel()
	r := newRecord(designCreate, Options{Command: strings.Repeat("ä", 2000)})
	if len(r.Command) > maxCommand+3 || !strings.HasSuffix(r.Command, "ä…") {
		t.Errorf("%d bytes, ends in %q", len(r.Command), r.Command[len(r.Command)-6:])
	}
	if len(r.line()) > 4096 {
		t.Errorf("the record has %d bytes: more than one block", len(r.line()))
	}
}

// What Quote prints, a shell reads back.
func TestQuote(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	words := []string{"", "plain", "/a b/c", "it's", `"`, "$HOME", "`id`", "a\nb", "-n", "~", "=x", "A=b", "*", "a;b", "é", "\xff", `\`, "'", "{tree}", "#", "!x"}
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+Quote(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("got %q", got)
	}
	// As the first word, too, nothing may be taken for an assignment.
	if out, err := exec.Command("sh", "-c", Quote("A=b")+" 2>&1 || true").Output(); err != nil || len(out) == 0 {
		t.Errorf("A=b was not taken for a command: %q, %v", out, err)
	}
}

func TestRecordSaysWhoWeAre(t *testing.T) {
	t.Parallel()
	r := newRecord(designCreate, Options{})
	host, _ := os.Hostname()
	if r.PID != os.Getpid() || r.Host != host || r.Command != clip(Quote(os.Args...), maxCommand) || r.Acquired.Before(r.Started) {
		t.Errorf("%+v", r)
	}
	if other := newRecord(designCreate, Options{}); other.Token == r.Token {
		t.Error("the same token twice")
	}
}
