package guard

import (
	"errors"
	"os"
)

// sameProgram makes sure that the path still leads to the file that runs: the
// kernel keeps its identity whatever became of the name.
func sameProgram(path string) error {
	running, err := os.Stat("/proc/self/exe")
	if err != nil {
		return err
	}
	named, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(running, named) {
		return errors.New("another file is there now")
	}
	return nil
}
