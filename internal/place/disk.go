//go:build linux

package place

import (
	"errors"
	"os"
	"path/filepath"

	"faultlab/internal/scratch"
	"faultlab/internal/trial"
)

// otherDiskVar is reached through a link, since its own name is not known before.
const otherDiskVar = "{case}/tmp"

// otherDisk makes a folder on another disk than the copies'.
func otherDisk(tree, folder string) (func(), error) {
	here, there := device(tree), device(scratch.OtherDisk)
	if here == there || there == 0 {
		return nil, trial.Unhad("%s is no other disk than that of the copies", scratch.OtherDisk)
	}
	space, err := scratch.NewIn(scratch.OtherDisk)
	if err != nil {
		return nil, trial.Unhad("%v", err)
	}
	undo := func() { _ = space.Close() } // what stays is cleared by the next start
	dir := filepath.Join(space.Dir(), "tmp")
	return undo, errors.Join(os.Mkdir(dir, 0o700), os.Symlink(dir, filepath.Join(folder, "tmp")))
}
