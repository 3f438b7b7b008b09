package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func init() { subjects["r14"] = r14 }

// r14 NAME over|runs claims the one job, does it and completes it. A claim that is
// "over" has run out by then, and the next one may claim the job as well. Bad:
// completes it as any worker may. Good: its result and its completion are taken
// in one step with a look at the claim, which must be its own.
func r14(how string, args []string) int {
	claim := strings.Join(args, " ")
	err := r15Guarded(func() error {
		done, _ := os.ReadFile("done")
		now, _ := os.ReadFile("claim")
		if len(done) > 0 || strings.HasSuffix(string(now), " runs") {
			return errors.New("no job")
		}
		return os.WriteFile("claim", []byte(claim), 0o600)
	})
	if err != nil {
		return fail(err)
	}
	if how == "bad" {
		err = r14Complete(args[0])
	} else {
		err = r15Guarded(func() error {
			if now, err := os.ReadFile("claim"); err != nil || string(now) != claim {
				return errors.Join(fmt.Errorf("lease lost to %q", now), err)
			}
			return r14Complete(args[0])
		})
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

func r14Complete(name string) error {
	if err := os.WriteFile("result", []byte(name+"\n"), 0o600); err != nil {
		return err
	}
	done, err := os.OpenFile("done", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(done, name)
	return errors.Join(err, done.Close())
}
