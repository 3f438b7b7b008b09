// Package notes tests the tool. On a full disk the tool as it is leaves its lock
// behind, and is then of no more use:
//
//	go test              # finds that
//	go test -tags=fixed  # passes
package notes

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"faultlab"

	"github.com/rogpeppe/go-internal/testscript"
)

// The project had a command of its own before: "shout" stays one.
func TestMain(m *testing.M) {
	faultlab.Main(m, map[string]func(){
		"shout": func() { fmt.Println(strings.ToUpper(strings.Join(os.Args[1:], " "))) },
	}, "./cmd/notes")
}

func TestScripts(t *testing.T) { faultlab.Run(t, "testdata/script") }

// TestOwn extends params that the project had already.
func TestOwn(t *testing.T) {
	p := testscript.Params{
		Dir:   "testdata/own",
		Setup: func(env *testscript.Env) error { env.Setenv("GREETING", "hello"); return nil },
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
