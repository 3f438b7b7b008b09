package faultlab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// marker is the environment variable by which a script's processes are known.
const marker = "FAULTLAB_SCRIPT"

// script is what one run of a script keeps.
type script struct {
	t       testscript.T
	mark    string // "FAULTLAB_SCRIPT=…", in the environment of all its processes
	expired atomic.Bool
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
		s := &script{t: env.T()}
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

// watch ends what is left of a script shortly before the deadline of the test.
// Testscript waits for background programs without a limit, and a program that
// ignores its interrupt would otherwise outlive us all.
func (s *script) watch() (stop func()) {
	t, ok := s.t.(interface{ Deadline() (time.Time, bool) })
	if !ok {
		return func() {}
	}
	deadline, ok := t.Deadline()
	if !ok {
		return func() {}
	}
	left := time.Until(deadline)
	// Testscript begins to end programs itself at nine tenths.
	timer := time.AfterFunc(left-left/20, func() {
		s.expired.Store(true)
		endMarked(s.mark)
	})
	return func() { timer.Stop() }
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
	if s.expired.Load() {
		s.t.Fatal("faultlab: the test's time was over, and programs that would not end were killed")
	}
}
