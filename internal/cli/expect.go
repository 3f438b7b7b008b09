//go:build linux

package cli

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"faultlab/internal/shim"
)

// expectation is what --expect says of the program's end. The zero one relays.
type expectation struct {
	text string
	code int // -1 where text is a word
}

func parseExpectation(text string) (expectation, error) {
	switch text {
	case "", "ok", "fail", "killed":
		return expectation{text, -1}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 255 {
		return expectation{}, usagef("--expect %q: want ok, fail, killed or a status from 0 to 255", text)
	}
	return expectation{text, n}, nil
}

// judge turns the program's end into faultfs's status.
func (e expectation) judge(std streams, exit shim.Exit) error {
	if e.text == "" {
		return status(exit.Status())
	}
	if e.holds(exit) {
		return status(statusOK)
	}
	fmt.Fprintf(std.err, "faultfs: expected %s, but the program %s\n", e.text, describe(exit))
	return status(statusFindings)
}

func (e expectation) holds(exit shim.Exit) bool {
	switch e.text {
	case "ok":
		return exit.Status() == 0
	case "fail":
		return exit.Signal == 0 && exit.Code != 0
	case "killed":
		return exit.Signal == unix.SIGKILL
	}
	return exit.Status() == e.code
}

func describe(exit shim.Exit) string {
	if exit.Signal != 0 {
		return fmt.Sprintf("was ended by %s", unix.SignalName(exit.Signal))
	}
	return fmt.Sprintf("exited with status %d", exit.Code)
}
