package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func init() { subjects["r15"] = r15 }

// r15 NAME over|runs [looks] takes the lease that is the link "lease", and works.
// One that is "over" has run out by then, and gives it back nevertheless. Bad:
// removes the lease, whoever has it; with "looks" it looks before. Good: looks and
// removes in one step, under the guard of those who take it.
func r15(how string, args []string) int {
	name, state := args[0], args[1]
	if err := r15Guarded(func() error { return r15Take(name + " " + state) }); err != nil {
		fmt.Println(err)
		return 3
	}
	if err := os.WriteFile("work."+name, nil, 0o600); err != nil {
		return fail(err)
	}
	if state == "runs" {
		return 0
	}
	var err error
	if how == "good" {
		err = r15Guarded(func() error { return r15Release(name, true) })
	} else {
		err = r15Release(name, len(args) > 2)
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r15Guarded does what nobody else may do at the same time.
func r15Guarded(do func() error) error {
	f, err := os.OpenFile("lease.guard", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return do()
}

func r15Take(lease string) error {
	old, err := os.Readlink("lease")
	if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(old, " runs") {
		return errors.Join(fmt.Errorf("refused, the lease is %q", old), err)
	}
	if old != "" {
		if err := os.Remove("lease"); err != nil {
			return err
		}
	}
	return os.Symlink(lease, "lease")
}

func r15Release(name string, looks bool) error {
	if looks {
		now, err := os.Readlink("lease")
		if err != nil || !strings.HasPrefix(now, name+" ") {
			return errors.Join(fmt.Errorf("the lease is not mine any more, it is %q", now), err)
		}
	}
	return os.Remove("lease")
}
