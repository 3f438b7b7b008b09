package faultlab

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

func exits(ts *testscript.TestScript, _ bool, args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	want := args[0]
	if n, err := strconv.Atoi(want); (err != nil || n < 0 || n > 255) && !isSignal(want) {
		return fmt.Errorf("bad status %q: want a number from 0 to 255, or a signal such as SIGKILL", want)
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	got := "0"
	if exit != nil {
		got = ending(exit.ProcessState)
	}
	if got != want {
		return fmt.Errorf("%s ended with %s, not with %s", args[1], got, want)
	}
	return nil
}
