// Command pidlock takes the lock file named with github.com/nightlyone/lockfile, is
// inside from its first line in the log to its second, and gives it back.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/nightlyone/lockfile"
)

func main() {
	path, err := filepath.Abs(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	lock, err := lockfile.New(path)
	if err == nil {
		err = lock.TryLock()
	}
	if err != nil {
		log.Fatal(err)
	}
	witness()
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
}

func witness() {
	f, err := os.OpenFile("log", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(f, "enter", os.Getpid())
	fmt.Fprintln(f, "leave", os.Getpid())
}
