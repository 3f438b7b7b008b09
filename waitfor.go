package faultlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"faultlab/internal/rule"
)

func waitfor(ts *testscript.TestScript, _ bool, args []string) error {
	limit, args, err := timeout(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errUsage
	}
	file := ts.MkAbs(args[0])
	look := func() (bool, error) { return exists(file) }
	missing := func() string { return args[0] + " did not appear" }
	if len(args) > 1 {
		sel, err := rule.ParseSelector(strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		t := newTail(file, sel)
		defer t.close()
		look = t.look
		missing = t.missing
	}
	return waitWhileRunning(ts, limit, look, missing)
}

func exists(file string) (bool, error) {
	_, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// lastWish is how long after the end of all background programs something may
// still come from what they left behind.
const lastWish = time.Second

// waitWhileRunning waits for look. Where the script has programs in the
// background and all of them have ended, it need not wait for its whole time.
func waitWhileRunning(ts *testscript.TestScript, limit time.Duration, look func() (bool, error), missing func() string) error {
	var endedAt time.Time
	over := false
	found, err := await(limit, func() (bool, error) {
		ok, err := look()
		if ok || err != nil {
			return ok, err
		}
		if endedAt.IsZero() && allEnded(ts) {
			endedAt = time.Now()
		}
		over = !endedAt.IsZero() && time.Since(endedAt) > lastWish
		return over, nil
	})
	switch {
	case err != nil:
		return err
	case over:
		return fmt.Errorf("%s, and every background program has ended", missing())
	case !found:
		return fmt.Errorf("%s within %v", missing(), limit)
	}
	return nil
}

// allEnded reports whether there were background programs and none runs.
func allEnded(ts *testscript.TestScript) bool {
	cmds := ts.BackgroundCmds()
	for _, cmd := range cmds {
		// Signal, unlike ProcessState, may be used beside the Wait that
		// testscript has under way.
		if !errors.Is(cmd.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return false
		}
	}
	return len(cmds) > 0
}
