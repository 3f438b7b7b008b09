//go:build linux

package place

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"faultlab/internal/trial"
)

// Where another disk than the copies' is most likely. A folder there is reached
// through a link, since its own name is not known before.
const (
	otherDiskVar  = "{case}/tmp"
	otherDiskRoot = "/dev/shm"
	otherDiskName = "faultfs-place-"
)

// otherDisk makes a folder on another disk than the copies'.
func otherDisk(tree, folder string) (func(), error) {
	here, there := device(tree), device(otherDiskRoot)
	if here == there || there == 0 {
		return nil, trial.Unhad("%s is no other disk than that of the copies", otherDiskRoot)
	}
	sweepDisk()
	dir, lock, err := claimFolder()
	if err != nil {
		return nil, trial.Unhad("%v", err)
	}
	undo := func() {
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
	return undo, os.Symlink(dir, filepath.Join(folder, "tmp"))
}

// claimFolder makes a folder that is locked as long as we live: so the next one
// knows what was left behind.
func claimFolder() (string, *os.File, error) {
	for {
		dir, err := os.MkdirTemp(otherDiskRoot, otherDiskName)
		if err != nil {
			return "", nil, err
		}
		// Until it is locked another one's sweep may take it for a dead one's.
		lock, ok := lockFolder(dir)
		if ok && device(dir) != 0 {
			return dir, lock, nil
		}
		if lock != nil {
			_ = lock.Close()
		}
	}
}

func lockFolder(dir string) (*os.File, bool) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false
	}
	return f, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// sweepDisk removes our folders whose owners are gone.
func sweepDisk() {
	all, _ := filepath.Glob(filepath.Join(otherDiskRoot, otherDiskName+"*"))
	for _, dir := range all {
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		f, free := lockFolder(dir)
		if free {
			_ = os.RemoveAll(dir)
		}
		if f != nil {
			_ = f.Close()
		}
	}
}
