// Command renameio replaces a file with github.com/google/renameio: renameio old|new FILE MODE.
package main

import (
	"log"
	"os"
	"strconv"

	old "github.com/google/renameio"
	"github.com/google/renameio/v2"
)

func main() {
	mode, err := strconv.ParseUint(os.Args[3], 8, 9)
	if err != nil {
		log.Fatal(err)
	}
	perm := os.FileMode(mode)
	if os.Args[1] == "old" {
		err = old.WriteFile(os.Args[2], []byte("new\n"), perm)
	} else {
		err = renameio.WriteFile(os.Args[2], []byte("new\n"), perm)
	}
	if err != nil {
		log.Fatal(err)
	}
}
