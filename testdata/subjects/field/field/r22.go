package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

func init() { subjects["r22"] = r22 }

// r22 rotates the logs that were not rotated since DATE ("r22 bad DATE LOG..."), which
// the file state says, a line each. Bad: it writes over the live file, and does
// nothing at all over one line that it cannot read.
func r22(how string, args []string) int {
	text, err := os.ReadFile("state")
	if err != nil {
		return fail(err)
	}
	dates, damaged := r22Read(string(text))
	if damaged != nil && how == "bad" {
		return fail(damaged)
	}
	var out strings.Builder
	for _, log := range args[1:] {
		if dates[log] < args[0] {
			fmt.Println("rotated", log)
			dates[log] = args[0]
		}
		fmt.Fprintln(&out, log, dates[log])
	}
	if how == "bad" {
		err = os.WriteFile("state", []byte(out.String()), 0o600)
	} else {
		err = errors.Join(damaged, r22Replace(out.String()))
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r22Read is what the lines say that can be read, and of the others where they are.
func r22Read(text string) (map[string]string, error) {
	dates := make(map[string]string)
	var damaged error
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		log, date, _ := strings.Cut(line, " ")
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			damaged = errors.Join(damaged, fmt.Errorf("state: bad line %d", i+1))
			continue
		}
		dates[log] = date
	}
	return dates, damaged
}

func r22Replace(text string) error {
	f, err := os.OpenFile("state.tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename("state.tmp", "state")
	}
	if err != nil {
		return errors.Join(err, os.Remove("state.tmp"))
	}
	return nil
}
