package race

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == threadsWord {
		os.Exit(fourThreads())
	}
	os.Exit(shim.Main(m.Run))
}

func long() bool { return os.Getenv("FAULTLAB_LONG") == "1" }

// newTestRace prepares a race of shell scripts from testdata/subjects/race, one
// a line of words, in a tree that the setup makes.
func newTestRace(t *testing.T, setup string, opts Options, commands ...string) *Race {
	t.Helper()
	return newRaceOf(t, trial.Spec{Setup: setup}, opts, commands...)
}

func newRaceOf(t *testing.T, spec trial.Spec, opts Options, commands ...string) *Race {
	t.Helper()
	spec.Program, spec.Timeout, spec.Jobs = "/bin/sh", 30*time.Second, 2
	runner, err := trial.New(t.Context(), spec)
	if shim.IsVoid(err) && strings.Contains(err.Error(), "faultfs doctor") && os.Getenv("FAULTLAB_REQUIRE") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	dir, err := filepath.Abs("../../testdata/subjects/race")
	if err != nil {
		t.Fatal(err)
	}
	var programs []trial.Program
	for _, command := range commands {
		words := strings.Fields(command)
		words[0] = filepath.Join(dir, words[0])
		programs = append(programs, trial.Program{Path: "/bin/sh", Args: append([]string{"sh"}, words...)})
	}
	opts.Jobs = 2
	return New(runner, programs, opts)
}

// twice has two actors run one command of the shell's.
func (r *Race) twice(command string) *Race {
	for range 2 {
		r.programs = append(r.programs, trial.Program{Path: "/bin/sh", Args: []string{"sh", "-c", command}})
	}
	return r
}

const zero = "echo 0 >count; "

// subject is a lock of the literature, in a broken and in a mended form.
type subject struct {
	name, setup string
	actors      int
	all         int // about how many orders the mended one has at bound 2
}

var subjects = []subject{
	{"counter", zero, 2, 6},
	{"mkdirlock", zero, 2, 26},
	{"aside", zero + "echo gone >lock", 2, 126},
	{"mtime", zero + "touch -d '2 hours ago' lock; touch -d '1 hour ago' epoch", 2, 54},
	{"release", zero, 3, 500},
	{"truncate", "", 2, 6},
	{"pidfile", zero, 2, 34},
	{"unlinkflock", zero, 3, 500},
	{"createwrite", zero, 2, 66},
}

func TestBrokenLocksAreFound(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			if (s.name == "aside" || s.name == "unlinkflock") && !long() {
				t.Skip("FAULTLAB_LONG=1: some seconds")
			}
			r := newTestRace(t, s.setup, Options{Preemptions: 2}, s.commands("bad")...)
			findings, err := r.Explore(t.Context())
			if err != nil || len(findings) != 1 {
				t.Fatalf("%d findings in %+v (%v), want 1", len(findings), r.Stats(), err)
			}
			f := findings[0]
			t.Logf("%s in schedule %d: %s", f.Verdict, f.Schedule, Choice(f.Steps))
			again, err := r.Replay(t.Context(), Choice(f.Steps))
			if err != nil || len(again) != 1 || Compact(again[0].Steps) != Compact(f.Steps) {
				t.Errorf("played again: %d findings (%v), want %s", len(again), err, Compact(f.Steps))
			}
		})
	}
}

func TestMendedLocksHold(t *testing.T) {
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			if s.all > 40 && !long() {
				t.Skip("FAULTLAB_LONG=1: some seconds")
			}
			r := newTestRace(t, s.setup, Options{Preemptions: 2}, s.commands("good")...)
			findings, err := r.Explore(t.Context())
			if s := r.Stats(); err != nil || len(findings) > 0 || s.Left > 0 || s.Departed > 0 || s.Schedules < 2 {
				t.Fatalf("%v in %+v (%v), want none, and all played", findings, s, err)
			}
		})
	}
}

// A random name in the temporary folder is another one in each play.
func TestRandomNamesOutside(t *testing.T) {
	r := newTestRace(t, "", Options{Preemptions: 1}).twice("rm $(mktemp); echo x >>log")
	findings, err := r.Explore(t.Context())
	if s := r.Stats(); err != nil || len(findings) > 0 || s.Departed > 0 || s.Schedules < 2 {
		t.Fatalf("%v in %+v (%v), want none, and no order departed from", findings, s, err)
	}
}

func (s *subject) commands(how string) []string {
	var out []string
	for i := range s.actors {
		out = append(out, fmt.Sprintf("%s.sh %s %d", s.name, how, i+1))
	}
	return out
}

// TestReplayIsTheSame plays one order again and again with a busy loop beside it:
// no time that passes decides anything.
func TestReplayIsTheSame(t *testing.T) {
	times := 100
	if long() {
		times = 1000
	}
	r := newTestRace(t, zero, Options{Preemptions: 2}, "counter.sh bad", "counter.sh bad")
	findings, err := r.Explore(t.Context())
	if err != nil || len(findings) != 1 {
		t.Fatalf("%d findings (%v), want 1", len(findings), err)
	}
	runtime.LockOSThread() // the loop's parent: a thread that ended would leave it to the first one, as an orphan
	defer runtime.UnlockOSThread()
	busy := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Process.Kill(); _ = busy.Wait() }()
	want := Lanes(findings[0].Steps, 2)
	for i := range times {
		s, err := parseChoice(Choice(findings[0].Steps), 2)
		if err != nil {
			t.Fatal(err)
		}
		o := r.once(t.Context(), s)
		if o.err != nil || !s.done() || !o.judgement.Finding {
			t.Fatalf("replay %d: %v, %+v", i, o.err, o.judgement)
		}
		if got := Lanes(o.play.lanes, 2); !slices.Equal(got, want) {
			t.Fatalf("replay %d:\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
