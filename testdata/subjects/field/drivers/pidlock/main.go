// Command pidlock takes the lock file named with github.com/nightlyone/lockfile, says
// so, and gives it back.
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
	fmt.Println("locked")
	if err := lock.Unlock(); err != nil {
		log.Fatal(err)
	}
}
