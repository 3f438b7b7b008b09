// Command syncerr replaces a state file. Bad: it renames whatever the sync says,
// so the good copy gives way to one that may never reach the disk.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := replace("state", []byte("epoch 8\n"), os.Args[1] == "bad"); err != nil {
		fmt.Fprintln(os.Stderr, "syncerr:", err)
		os.Exit(1)
	}
}

func replace(name string, data []byte, bad bool) error {
	tmp := name + ".tmp"
	if err := write(tmp, data, bad); err != nil {
		// A copy that could not be written helps nobody. If this fails too, the next run replaces it.
		_ = os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, name)
}

func write(name string, data []byte, bad bool) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
		if bad {
			err = nil
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
