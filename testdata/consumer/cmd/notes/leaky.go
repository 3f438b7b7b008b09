//go:build !fixed

package main

import (
	"log"
	"os"
)

// add lets the lock go at its end, which log.Fatal never reaches.
func add(text string) {
	if err := write(text); err != nil {
		log.Fatal(err)
	}
	os.Remove(lock)
}
