// Command readerr counts its runs. Bad: a count that cannot be read is taken for
// the first start, and written over. Good: only a count that is not there is.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func main() {
	n, err := last("runs")
	if err != nil && (os.Args[1] != "bad" && !errors.Is(err, fs.ErrNotExist)) {
		fail(err)
	}
	if err := replace("runs", fmt.Appendf(nil, "%d\n", n+1)); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "readerr:", err)
	os.Exit(1)
}

func last(name string) (n int, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(string(data), "%d\n", &n); err != nil {
		return 0, fmt.Errorf("parse %s: %w", name, err)
	}
	return n, nil
}

// replace leaves the old file or the new one, whatever ends it.
func replace(name string, data []byte) error {
	tmp := name + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}
