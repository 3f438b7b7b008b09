// Package notes keeps lines of text in notes.txt, one writer at a time.
package notes

import "os"

const lock = "notes.lock"

// Lock is refused while another one has it.
func Lock() error {
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// Unlock lets the next one write.
func Unlock() { os.Remove(lock) }

// Add appends one line.
func Add(text string) error {
	f, err := os.OpenFile("notes.txt", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
