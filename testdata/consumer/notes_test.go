// This test is what a project writes that uses the lab. It runs one script over
// two versions of its tool:
//
//	go test -run Leaky  # finds the lock that is left behind
//	go test -run Fixed  # passes
//
// TestSweep asks the same of both without a script: which failure leaves what?
package consumer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"faultlab"

	"github.com/rogpeppe/go-internal/testscript"
)

// The project had a program of its own in its scripts before: shout.
func TestMain(m *testing.M) {
	faultlab.Main(m, map[string]func(){
		"shout": func() { fmt.Println(strings.ToUpper(strings.Join(os.Args[1:], " "))) },
	}, "./cmd/leaky", "./cmd/fixed")
}

func TestLeaky(t *testing.T) { scripts(t, "leaky") }
func TestFixed(t *testing.T) { scripts(t, "fixed") }

// It had params of its own, too.
func scripts(t *testing.T, notes string) {
	p := testscript.Params{
		Dir:   "testdata/script",
		Setup: func(env *testscript.Env) error { env.Setenv("NOTES", notes); return nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"twice": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(ts.Exec(args[0], args[1:]...))
				ts.Check(ts.Exec(args[0], args[1:]...))
			},
		},
		Condition: func(cond string) (bool, error) { return cond == "always", nil },
	}
	faultlab.Extend(&p)
	testscript.Run(t, p)
}

// TestFresh is for a project that had none of that.
func TestFresh(t *testing.T) { faultlab.Run(t, "testdata/fresh") }

// TestSweep finds the leak without being told where.
func TestSweep(t *testing.T) {
	for _, tool := range []string{"leaky", "fixed"} {
		t.Run(tool, func(t *testing.T) {
			faultlab.Sweep(t, "--ops", "create,write", "--faults", "ENOSPC", "--", tool, "remember")
		})
	}
	t.Run("absent", func(t *testing.T) { faultlab.Sweep(t, "--", "absent") })
	t.Run("nothing", func(t *testing.T) { faultlab.Sweep(t, "--ops", "link", "--", "fixed", "remember") })
}
