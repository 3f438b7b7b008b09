package faultlab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"faultlab/fence"
)

func advance(ts *testscript.TestScript, _ bool, args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	by, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("bad time %q: want one with its unit, such as 10s", args[1])
	}
	socket, done, err := near(ts.MkAbs(args[0]))
	if err != nil {
		return err
	}
	defer done()
	now, err := fence.Client{Socket: socket, Timeout: patience}.Advance(context.Background(), by)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(ts.Stdout(), now)
	return err
}

// near is a name for the socket that is short enough. The kernel takes 107
// bytes, which $WORK alone may have; a program in the script would say where the
// socket is from its working directory, and this process has another.
func near(socket string) (name string, done func(), err error) {
	if fence.CheckSocket(socket) == nil {
		return socket, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return "", nil, err
	}
	name = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(socket))
	return name, func() { _ = dir.Close() }, nil
}
