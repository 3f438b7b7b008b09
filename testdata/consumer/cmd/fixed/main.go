// Fixed is leaky with its lock given back whatever came of the note.
package main

import (
	"log"
	"os"
	"strings"

	"example.com/notes/notes"
)

func main() {
	if err := add(strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func add(text string) error {
	if err := notes.Lock(); err != nil {
		return err
	}
	defer notes.Unlock()
	return notes.Add(text)
}
