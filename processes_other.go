//go:build !linux

package faultlab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Elsewhere there is no faultfs, and what a script needs of it is skipped;
// the rest of a project's scripts still runs.

func lives(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}

func isSignal(string) bool { return false }

func ending(state *os.ProcessState) string { return strconv.Itoa(state.ExitCode()) }

func kill(int, string) error { return fmt.Errorf("signals: %w", errors.ErrUnsupported) }

func children(int) []int { return nil }

func image(int) (exe string, args []string) { return "", nil }

func endMarked(string) (ended []string, err error) { return nil, nil }

func marked(string) []int { return nil }

func parentOf(int) int { return 0 }
