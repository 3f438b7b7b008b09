package main

import (
	"errors"
	"os"
)

func init() { subjects["r28"] = r28 }

// r28 gives the file target a new content. Bad: by way of $TMPDIR, and where no
// rename leads from there to target, by a copy over the live file.
func r28(how string, args []string) int {
	dir, place := "", os.Rename
	if how == "bad" {
		dir, place = os.TempDir(), r28RenameOrCopy
	} else {
		dir = "." // beside the target is always on its disk
	}
	f, err := os.CreateTemp(dir, "target.*")
	if err != nil {
		return fail(err)
	}
	_, err = f.WriteString(args[0] + "\n")
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = place(f.Name(), "target")
	}
	if err != nil {
		return fail(errors.Join(err, os.Remove(f.Name())))
	}
	return 0
}

func r28RenameOrCopy(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		return err
	}
	return os.Remove(from)
}
