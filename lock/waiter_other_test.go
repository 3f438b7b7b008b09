//go:build unix && !linux

package lock

import (
	"os"
	"testing"
)

func waitForFlockWaiter(*testing.T, *os.File) {}
