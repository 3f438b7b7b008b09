//go:build !linux

package guard

// sameProgram: nothing to compare with.
func sameProgram(string) error { return nil }
