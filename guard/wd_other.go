//go:build !linux

package guard

import "os"

// workingDir may be spelled as $PWD has it, which leads to the same directory;
// walk resolves it.
func workingDir() (string, error) { return os.Getwd() }
