//go:build linux

package race

import (
	"strings"
	"testing"

	"faultlab/internal/trial"
	"faultlab/internal/verdict"
)

const count = `n=0; [ -e "$f" ] && read n <"$f"; echo $((n + 1)) >"$f"`

// A check is asked again where it may see what the tree, and what is kept of the
// output, do not tell.
func TestCheckSeesMore(t *testing.T) {
	for _, tt := range []struct {
		what, command, check string
		ignore               []string
	}{
		{"temporary folder", "f=$TMPDIR/n; " + count + "; echo here >>log", `[ "$(cat $TMPDIR/n)" = 2 ]`, nil},
		{"ignored", "f=n; " + count + "; echo here >>log", `[ "$(cat $FAULTFS_TREE/n)" = 2 ]`, []string{"n"}},
		{"long output", `echo here >>log; head -c 70000 /dev/zero | tr "\0" x; echo; grep -c . log`,
			`[ "$(for f in $FAULTFS_STDOUT; do tail -n1 $f; done | tr -d "\n")" != 22 ]`, nil},
	} {
		t.Run(tt.what, func(t *testing.T) {
			r := newRaceOf(t, trial.Spec{Check: tt.check, Ignore: tt.ignore}, Options{Preemptions: 2, Ignores: tt.ignore != nil}).twice(tt.command)
			findings, err := r.Explore(t.Context())
			if err != nil || len(findings) != 1 || findings[0].Verdict != verdict.Violated {
				t.Errorf("%v in %+v (%v), want one, violated", findings, r.Stats(), err)
			}
		})
	}
}

// A check that says what is lost gives that verdict, as everywhere.
func TestCheckSaysLost(t *testing.T) {
	r := newRaceOf(t, trial.Spec{Check: `[ "$(cat n)" = 2 ] || { echo lost: one; exit 1; }`}, Options{Preemptions: 2}).twice("f=n; " + count)
	findings, err := r.Explore(t.Context())
	if err != nil || len(findings) != 1 || findings[0].Verdict != verdict.Lost || !strings.Contains(findings[0].Detail, "lost: one") {
		t.Errorf("%+v (%v), want one lost", findings, err)
	}
}

// What the race has removed and every order keeps is named.
func TestCauseNamesWhatIsGone(t *testing.T) {
	r := newTestRace(t, "echo here >kept", Options{Preemptions: 1}).twice("mkdir lock; rmdir lock")
	r.programs[1].Args[2] = "[ -d lock ] && rm kept; true"
	findings, err := r.Explore(t.Context())
	const want = "no order one after the other leaves the tree like this: kept"
	if err != nil || len(findings) != 1 || findings[0].Cause != want {
		t.Errorf("%+v (%v), want %q", findings, err, want)
	}
}
