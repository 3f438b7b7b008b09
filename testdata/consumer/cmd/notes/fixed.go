//go:build fixed

package main

import (
	"log"
	"os"
)

// add lets the lock go whatever came of the write.
func add(text string) {
	err := write(text)
	os.Remove(lock)
	if err != nil {
		log.Fatal(err)
	}
}
