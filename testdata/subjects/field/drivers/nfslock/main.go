// Command nfslock takes a lock file, says so, and gives it back: nfslock filemutex|flock FILE.
package main

import (
	"fmt"
	"log"
	"os"

	filemutex "github.com/alexflint/go-filemutex"
	"github.com/gofrs/flock"
)

func main() {
	take := func(path string) error {
		m, err := filemutex.New(path)
		if err != nil {
			return err
		}
		return m.TryLock()
	}
	if os.Args[1] == "flock" {
		take = func(path string) error {
			ok, err := flock.New(path).TryLock()
			if err == nil && !ok {
				err = fmt.Errorf("%s is held", path)
			}
			return err
		}
	}
	if err := take(os.Args[2]); err != nil {
		log.Fatal(err)
	}
	fmt.Println("locked")
}
