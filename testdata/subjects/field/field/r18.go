package main

import (
	"fmt"
	"os"

	"faultlab/fence"
)

func init() { subjects["r18"] = r18 }

// r18 acquire|sweep|read|commit is a client of a record whose generation rises with
// each acquiring and each sweep. A commit that was refused is tried once more,
// unchanged. Bad: the holder's generation is remembered for it beside the record,
// and every read brings that up to date. Good: it sends the one that it was given.
// With "put STORE TOKEN" it is a client of package fence.
func r18(how string, args []string) int {
	steps := map[string]func() error{
		"acquire": func() error { return r18Raise("seen", "given") },
		"sweep":   func() error { return r18Raise() },
		"read":    func() error { return r18Read(how == "bad") },
		"commit":  func() error { return r18Commit(how == "bad") },
	}
	do, guarded := steps[args[0]], r15Guarded
	if args[0] == "put" {
		do, guarded = func() error { return r18Put(args[1], args[2]) }, func(do func() error) error { return do() }
	}
	err := guarded(do)
	if args[0] == "commit" && err != nil {
		fmt.Println("first:", err)
		err = guarded(do)
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r18Raise begins a generation, and notes it under the names. Generations are
// strings that grow.
func r18Raise(notes ...string) error {
	next, _ := os.ReadFile("generation")
	next = append(next, 'I')
	for _, name := range append(notes, "generation") {
		if err := os.WriteFile(name, next, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func r18Read(refreshes bool) error {
	now, err := os.ReadFile("generation")
	if err == nil && refreshes {
		err = os.WriteFile("seen", now, 0o600)
	}
	return err
}

func r18Commit(remembered bool) error {
	name := "given"
	if remembered {
		name = "seen"
	}
	mine, _ := os.ReadFile(name)
	if now, err := os.ReadFile("generation"); err != nil || string(now) != string(mine) {
		return fmt.Errorf("refused, %s is not %s", mine, now)
	}
	return os.WriteFile("value", mine, 0o600)
}

func r18Put(store, text string) error {
	token, err := fence.ParseToken(text)
	if err != nil {
		return err
	}
	return fence.Store{Path: store}.Put("key", token, []byte(text))
}
