package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

func init() { subjects["r10"] = r10 }

// r10 [regardless] adds one to a number under an exclusive flock. Bad: of a file
// that is open for reading only, which a local disk allows and NFS does not; with
// "regardless" it goes on without the lock that it did not get. Good: the file is
// open for writing, and no lock is the end.
func r10(how string, args []string) int {
	mode := os.O_RDWR
	if how == "bad" {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile("lock", mode|os.O_CREATE, 0o600)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		fmt.Println("lock is held")
		return 3
	}
	if err != nil {
		err = &fs.PathError{Op: "flock", Path: "lock", Err: err}
		if how != "bad" || len(args) == 0 {
			return fail(err)
		}
		fmt.Println("warning:", err)
	}
	if err := r12Count("runs"); err != nil {
		return fail(err)
	}
	return 0
}
