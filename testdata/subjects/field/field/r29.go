package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"faultlab/exit"
)

func init() { subjects["r29"] = r29 }

// r29 is a service that starts: it makes its pid file, and dies where its flags
// contradict each other, or its state cannot be opened: r29 bad|good [both] [stay].
func r29(how string, args []string) int {
	if how == "bad" {
		if err := claim(); err != nil {
			return fail(err)
		}
		defer os.Remove("pid")                                     // does not run:
		start(args, func(err error) { log.Fatal("field: ", err) }) // ends the process by itself
		return 0
	}
	exit.Main(func() int {
		err := exit.Do(func() error {
			err := claim()
			if err == nil {
				exit.Register(func() error { return os.Remove("pid") })
			}
			return err
		})
		if err != nil {
			return fail(err)
		}
		start(args, func(err error) { exit.Now(fail(err)) })
		return 0
	})
	return 0
}

func claim() error {
	f, err := os.OpenFile("pid", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func start(args []string, die func(error)) {
	if slices.Contains(args, "both") {
		die(errors.New("--once and --forever contradict each other"))
	}
	f, err := os.OpenFile("state", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		die(err)
	}
	_, err = fmt.Fprintln(f, "started")
	if err = errors.Join(err, f.Close()); err != nil {
		die(err)
	}
	if slices.Contains(args, "stay") {
		if err := os.WriteFile("ready", nil, 0o644); err != nil {
			die(err)
		}
		time.Sleep(time.Minute)
	}
}
