//go:build linux

package place

import (
	"os"
	"testing"
)

// What a killed invocation has left on the other disk is cleared by the next,
// and what belongs to a living one stays.
func TestSweepDisk(t *testing.T) {
	t.Parallel()
	dead, err := os.MkdirTemp(otherDiskRoot, otherDiskName)
	if err != nil {
		t.Skip(err)
	}
	living, lock, err := claimFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	defer os.RemoveAll(living)
	sweepDisk()
	if _, err := os.Stat(dead); err == nil {
		t.Errorf("%s is still there", dead)
	}
	if _, err := os.Stat(living); err != nil {
		t.Error(err)
	}
}
