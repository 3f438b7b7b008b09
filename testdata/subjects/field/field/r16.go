package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func init() { subjects["r16"] = r16 }

// r16 grant|sweep [early|unsynced] is a grantor of tokens: it prints the token of a
// grant when it is stored. Bad: the counter lies in the lease's record, which a
// sweep removes. Good: in a file of its own. With "early" the token is printed
// before it is stored, with "unsynced" the disk may not have it yet.
func r16(how string, args []string) int {
	counter := "lease"
	if how == "good" {
		counter = "counter"
	}
	if args[0] == "sweep" {
		if err := os.Remove("lease"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
		return 0
	}
	token, err := r16Read(counter)
	if err != nil {
		return fail(err)
	}
	token++
	slip := append(args, "")[1]
	if slip == "early" {
		fmt.Println(token)
	}
	for _, name := range []string{counter, "lease"} {
		if err := r16Store(name, token, slip != "unsynced"); err != nil {
			return fail(err)
		}
	}
	if slip != "early" {
		fmt.Println(token)
	}
	return 0
}

func r16Read(name string) (token int, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err == nil {
		_, err = fmt.Sscan(string(text), &token)
	}
	return token, err
}

func r16Store(name string, token int, synced bool) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, token)
	if synced {
		err = errors.Join(err, f.Sync())
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil || !synced {
		return err
	}
	dir, err := os.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
