// Leaky adds its arguments as a note. It looks right, and is right as long as
// nothing fails.
package main

import (
	"log"
	"os"
	"strings"

	"example.com/notes/notes"
)

func main() {
	if err := notes.Lock(); err != nil {
		log.Fatal(err)
	}
	defer notes.Unlock()
	if err := notes.Add(strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err) // which runs no deferred call
	}
}
