package mutant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"faultlab/lock"
)

// linkThenReclaim publishes a complete record atomically, by link, which is better than most. But a lock whose holder is
// gone is judged stale and renamed aside by its path, to be acquired at once.
//
// Mechanism: two contenders judge the same stale lock. The quick one renames it aside and links its own; the slow one
// then renames the quick one's fresh lock aside, and both are in. What was looked at is a file, what is renamed is a
// name. The fix is to refuse, to say that the holder is gone, and to name the command that clears this very lock.
var linkThenReclaim = Design{
	Name:     "link-then-reclaim",
	About:    "a lock whose holder is gone is renamed aside by its path, which may be a fresh lock by then",
	Acquire:  acquireLinkThenReclaim,
	Register: atExit,
	Fix: `
-		if holderGone(path) && reclaim(path, mine+".stale") == nil {
-			continue
-		}
`}

func acquireLinkThenReclaim(path string, o lock.Options) (Held, error) {
	mine := fmt.Sprintf("%s.%d", path, os.Getpid())
	f, err := os.OpenFile(mine, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	defer os.Remove(mine)
	if err := (pidFile{mine}).fill(f); err != nil {
		return nil, err
	}
	for range 3 {
		err := os.Link(mine, path)
		if err == nil {
			return pidFile{path}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if holderGone(path) && reclaim(path, mine+".stale") == nil {
			continue
		}
		break
	}
	return nil, refused(path, o)
}

func reclaim(path, aside string) error {
	err := os.Rename(path, aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else reclaimed it
	}
	return errors.Join(err, os.Remove(aside))
}

// holderGone reads a pid file of this package, or a lock of the real design: the lab leaves either behind.
func holderGone(path string) bool {
	if seen, err := lock.Inspect(path); err == nil && seen.State == lock.Gone {
		return true
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	var pid int
	if _, err := fmt.Sscanf(string(content), "%d\n", &pid); err != nil || pid <= 0 {
		return false
	}
	return processGone(pid)
}
