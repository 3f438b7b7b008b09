package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func init() { subjects["r24"] = r24 }

// r24 is a server of jobs for one session: "put JOB..." answers each, and "list" is
// what a restart finds in the log. Bad: a failed sync is a line on stderr, and after
// a failed write it goes on without a log.
func r24(how string, args []string) int {
	text, err := os.ReadFile("log")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	sound := bytes.LastIndexByte(text, '\n') + 1
	if args[0] == "list" {
		os.Stdout.Write(text[:sound])
		return 0
	}
	f, err := os.OpenFile("log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fail(err)
	}
	defer f.Close() // each answer waits for its sync
	if err := f.Truncate(int64(sound)); err != nil {
		return fail(err)
	}
	if how == "bad" {
		r24Bad(f, args[1:])
		return 0
	}
	return r24Good(f, args[1:])
}

func r24Bad(f *os.File, jobs []string) {
	logging := true
	for _, job := range jobs {
		if logging {
			if _, err := f.WriteString(job + "\n"); err != nil {
				logging = false
				fmt.Fprintln(os.Stderr, "field:", err)
				fmt.Println("buried", job)
				continue
			}
			if err := f.Sync(); err != nil {
				fmt.Fprintln(os.Stderr, "field:", err)
			}
		}
		fmt.Println("inserted", job)
	}
}

// r24Good takes nothing in after the first failure: what the log then holds is for a
// restart to find out.
func r24Good(f *os.File, jobs []string) int {
	var broken error
	for _, job := range jobs {
		if broken == nil {
			_, broken = f.WriteString(job + "\n")
		}
		if broken == nil {
			broken = f.Sync()
		}
		if broken != nil {
			fmt.Println("refused", job)
		} else {
			fmt.Println("inserted", job)
		}
	}
	if broken != nil {
		return fail(broken)
	}
	return 0
}
