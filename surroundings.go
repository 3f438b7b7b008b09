package faultlab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// marker is the environment variable by which a script's processes are known.
const marker = "FAULTLAB_SCRIPT"

// script is what one run of a script keeps.
type script struct {
	t    testscript.T
	mark string       // "FAULTLAB_SCRIPT=…", in the environment of all its processes
	self string       // "goroutine 7 [", as which it stands in a dump
	busy atomic.Int32 // commands under way that are no programs
	late atomic.Pointer[string]
}

type scriptKey struct{}

// of is nil where the script's Setup did not come from Extend.
func of(ts *testscript.TestScript) *script {
	s, _ := ts.Value(scriptKey{}).(*script)
	return s
}

var scripts atomic.Int64

// setup prepares a script's surroundings and then lets the project do so.
func setup(own func(*testscript.Env) error) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		s := &script{t: env.T(), self: goroutine()}
		value := fmt.Sprintf("%d.%d", os.Getpid(), scripts.Add(1))
		s.mark = marker + "=" + value
		env.Values[scriptKey{}] = s
		env.Setenv(marker, value)
		home := filepath.Join(env.WorkDir, ".home")
		if err := os.MkdirAll(home, 0o755); err != nil {
			return err
		}
		env.Setenv("HOME", home)
		stop := s.watch()
		env.Defer(func() { stop(); s.end() })
		if own == nil {
			return nil
		}
		return own(env)
	}
}

// end makes sure that nothing that the script started lives on.
func (s *script) end() {
	ended, err := endMarked(s.mark)
	if len(ended) > 0 {
		s.t.Log("faultlab: ended what the script left running: " + strings.Join(ended, ", "))
	}
	if err != nil {
		s.t.Fatal("faultlab: ", err)
	}
	if msg := s.late.Load(); msg != nil {
		s.t.Fatal("faultlab: " + *msg)
	}
}
