//go:build linux

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultlab/internal/report"
	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// subjects are the small programs in testdata/subjects/crash, bad and good, and
// real stores by way of drivers or their shells. A good one without a finding is
// as much a test of the lab as a bad one with one.
var subjects = []struct {
	name    string
	needs   string // programs
	setup   string
	run     string
	next    string
	check   string
	finding string // a choice that is among them; "" for a clean one
	long    bool
}{
	{name: "replace good", setup: "echo old >state", run: "sh $S/replace.sh good new", check: replaced},
	{name: "replace nosync", setup: "echo old >state", run: "sh $S/replace.sh nosync new", check: replaced, finding: "after rename state#1, lost: data"},
	{name: "replace nodir", setup: "echo old >state", run: "sh $S/replace.sh nodir new", check: replaced, finding: "at the end, lost: all", long: true},
	{name: "replace late", setup: "echo old >state", run: "sh $S/replace.sh late new", check: replaced, finding: "after rename state#1, lost: data", long: true},
	{name: "replace early", setup: "echo old >state", run: "sh $S/replace.sh early new", check: replaced, finding: "after say#1, lost: all", long: true},

	{name: "log good", needs: "cc", setup: "touch log", run: "$B/applog good log one two", next: "$B/applog good log zzz", check: logged, long: true},
	{name: "log early", needs: "cc", setup: "touch log", run: "$B/applog early log one two", next: "$B/applog good log zzz", check: logged, finding: "after say#1, lost: all"},
	{name: "log tail", needs: "cc", setup: "touch log", run: "$B/applog tail log one two", next: "$B/applog tail log zzz", check: logged, finding: "after write log#1, size only: data", long: true},

	{name: "journal good", needs: "python3", setup: "echo -n old >a; echo -n old >b", run: "$P $S/journal.py good new", next: "$P $S/journal.py good recover", check: both, long: true},
	{name: "journal early", needs: "python3", setup: "echo -n old >a; echo -n old >b", run: "$P $S/journal.py early new", next: "$P $S/journal.py early recover", check: both, finding: "after unlink journal#1, lost: write a#1"},

	{name: "bbolt, an existing file", needs: "go", setup: "$B/boltput init db", run: "$B/boltput put db one two three", check: bolted},
	{name: "bbolt, a new file", needs: "go", run: "$B/boltput init db", check: "test ! -e db || $B/boltput get db", finding: "after create db#1", long: true},

	{name: "sqlite DELETE EXTRA", needs: "sqlite3", setup: table("delete"), run: insert("extra"), check: rows, long: true},
	{name: "sqlite DELETE FULL", needs: "sqlite3", setup: table("delete"), run: insert("full"), check: rows, finding: "at the end, lost: all", long: true},
	{name: "sqlite WAL FULL", needs: "sqlite3", setup: table("wal"), run: insert("full"), check: rows, long: true},
	{name: "sqlite DELETE OFF", needs: "sqlite3", setup: table("delete"), run: insert("off"), check: rows, finding: "at the end, lost: all", long: true},
}

const (
	replaced = `s=$(cat state) && { [ "$s" = new ] || [ "$s" = old ]; } && { ! grep -q saved "$FAULTFS_STDOUT" || [ "$s" = new ]; }`
	acked    = `sed -n 's/^ack //p' "$FAULTFS_STDOUT" | while read w; do grep -qx "$w" found || exit 1; done`
	logged   = "$B/applog read log >found; " + acked + ` && test -z "$(sort found | uniq -d)" && grep -qx zzz found`
	bolted   = "$B/boltput get db >found && " + acked
	both     = `a=$(cat a) b=$(cat b); [ "$a" = "$b" ] && { [ "$a" = old ] || [ "$a" = new ]; } && { ! grep -q set "$FAULTFS_STDOUT" || [ "$a" = new ]; }`
	rows     = `sqlite3 a.db "pragma integrity_check; select count(*) from t" >got 2>&1; { read ok; read n; } <got; test "$ok" = ok && { test $n = 1 || test $n = 3; } && { ! grep -q ack "$FAULTFS_STDOUT" || test $n = 3; }`
)

func table(journal string) string {
	return "sqlite3 a.db 'pragma journal_mode=" + journal + "; create table t(x); insert into t values(1)' >/dev/null"
}

func insert(synchronous string) string {
	return `sqlite3 a.db "pragma synchronous=` + synchronous + `; begin; insert into t values(2); insert into t values(3); commit; select 'ack'"`
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	expand := tools(t)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.long && os.Getenv("FAULTLAB_LONG") != "1" {
				t.Skip("long")
			}
			if s.needs != "" {
				if _, err := exec.LookPath(s.needs); err != nil {
					t.Skip(err)
				}
			}
			next := s.next
			if next == "" {
				next = "true"
			}
			r := experiment(t, trial.Spec{Setup: expand(s.setup), Next: expand(next), Check: expand(s.check)}, expand(s.run), s.finding)
			var found []string
			for _, f := range r.Findings {
				found = append(found, f.Witnesses...)
			}
			switch {
			case s.finding == "" && len(found) > 0:
				t.Errorf("a false alarm, or a defect of the subject: %q: %s", found, r.Findings[0].Detail)
			case s.finding != "" && !slices.Contains(found, s.finding):
				t.Errorf("%q is not among the findings: %q", s.finding, found)
			}
			if !r.Coverage.Complete || r.Coverage.Ran == 0 {
				t.Errorf("coverage: %+v", r.Coverage)
			}
		})
	}
}

// tools builds the subjects and returns how a command of the table reads.
func tools(t *testing.T) func(string) string {
	t.Helper()
	src, err := filepath.Abs("../../testdata/subjects/crash")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := func(name string, arg ...string) {
		if _, err := exec.LookPath(name); err != nil {
			return // its subjects are skipped
		}
		cmd := exec.Command(name, arg...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	build("cc", "-O1", "-o", filepath.Join(bin, "applog"), filepath.Join(src, "applog.c"))
	build("cc", "-O1", "-pthread", "-o", filepath.Join(bin, "threads"), filepath.Join(src, "threads.c"))
	build("go", "build", "-o", filepath.Join(bin, "boltput"), filepath.Join(src, "boltput"))
	python := "python3"
	// What is on PATH may be a slow script that looks for the real one.
	if out, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output(); err == nil {
		python = strings.TrimSpace(string(out))
	}
	return strings.NewReplacer("$S", src, "$B", bin, "$P", python).Replace
}

// experiment crashes a shell command in every way, or in one.
func experiment(t *testing.T, spec trial.Spec, run, only string) *report.Report {
	t.Helper()
	spec.Program, spec.Args, spec.Timeout, spec.Jobs = "/bin/sh", []string{"sh", "-c", "exec " + run}, 20*time.Second, 2
	r, err := trial.New(t.Context(), spec)
	if err != nil {
		if shim.IsVoid(err) && os.Getenv("FAULTLAB_REQUIRE") == "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	defer r.Close()
	c, err := r.Control(t.Context(), trial.Case{})
	if err != nil {
		t.Fatal(err)
	}
	log := &trial.Log{Repro: func(string) string { return "" }}
	cr, err := New(t.Context(), r, c, Settings{Options: Options{Model: Strict}}, log)
	if err != nil {
		t.Fatal(err)
	}
	var cases []trial.Case
	if only != "" {
		cases = []trial.Case{cr.Complete(trial.Case{Choice: only})}
	} else {
		cases = cr.Cases()
	}
	err = r.All(t.Context(), 2, log.Plan(cases), cr.Judge)
	return log.Report("crash", run, err)
}
