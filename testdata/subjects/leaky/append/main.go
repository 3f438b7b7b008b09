// Command append adds a record to a journal of lines. Bad: after half a record the
// next one is glued to it. Good: takes a torn tail away first.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const record = `{"event":"run","ok":true}` + "\n"

func main() {
	if err := add("journal", os.Args[1] == "bad"); err != nil {
		fmt.Fprintln(os.Stderr, "append:", err)
		os.Exit(1)
	}
}

func add(name string, bad bool) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if !bad {
		err = cutTail(f)
	}
	if err == nil {
		_, err = f.WriteString(record)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// cutTail ends the journal after its last whole line.
func cutTail(f *os.File) error {
	all, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(all, '\n') + 1
	if whole == len(all) {
		return nil
	}
	return f.Truncate(int64(whole))
}
