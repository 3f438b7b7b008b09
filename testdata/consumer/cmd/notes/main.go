// Notes keeps lines of text in notes.txt, one writer at a time.
//
//	notes add TEXT
package main

import (
	"fmt"
	"os"
	"strings"
)

const lock = "notes.lock"

func main() {
	if len(os.Args) < 3 || os.Args[1] != "add" {
		fmt.Fprintln(os.Stderr, "usage: notes add TEXT")
		os.Exit(2)
	}
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		fmt.Fprintf(os.Stderr, "notes: somebody else is writing (%v)\n", err)
		os.Exit(1)
	}
	f.Close()
	add(strings.Join(os.Args[2:], " "))
}

// write appends one line.
func write(text string) error {
	f, err := os.OpenFile("notes.txt", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
