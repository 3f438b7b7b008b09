//go:build linux

package trial

import (
	"io"
	"os"
	"path/filepath"

	"faultlab/internal/scratch"
	"faultlab/internal/shim"
)

// State is what a crash has left. It stands in for the subject's run: the next
// run and the check begin from it.
type State struct {
	// Build makes it of the copy in dir, and says which paths it touches.
	Build func(dir string, touch func(path string)) error
	Said  []byte // what had been printed by then
	// Alone leaves out the next run and the check.
	Alone bool
}

// inherit builds the case's state in the copy.
func (r *Runner) inherit(st *State, at *scratch.Copy) (Outcome, error) {
	if err := st.Build(at.Tree(), at.Touch); err != nil {
		return Outcome{}, err
	}
	if st.Alone || !r.Checked() {
		return inherited(st), nil // nobody reads it
	}
	for name, text := range map[string][]byte{"run.stdout": st.Said, "run.stderr": nil} {
		if err := os.WriteFile(filepath.Join(at.Out(), name), text, 0o600); err != nil {
			return Outcome{}, err
		}
	}
	return inherited(st), nil
}

// inherited is how the subject ended that a state stands in for.
func inherited(st *State) Outcome {
	said := string(st.Said[:min(len(st.Said), keptText)])
	return Outcome{Exit: shim.Exit{ByRule: true}, Ran: true, Stdout: said}
}

// Names makes the names of one run canonical.
func (r *Runner) Names() *Names { return r.pattern.Start() }

// BaseDir is the tree that every copy is made of, to be read only.
func (r *Runner) BaseDir() string { return r.base.Dir() }

// Shelf is a new directory beside the copies, for what is to be looked at before
// Close.
func (r *Runner) Shelf() (string, error) { return os.MkdirTemp(r.space.Dir(), "shelf") }

// Checked reports whether the user has given a check, and Own a next run.
func (r *Runner) Checked() bool { return r.spec.Check != "" }

// Own reports whether the next run is the user's own command.
func (r *Runner) Own() bool { return r.spec.Next != "" }

// newFileStream is a stream into which the program writes by itself, for a
// recording in which each write is an event.
func newFileStream(path string) (*stream, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	in, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		file.Close()
		return nil, err
	}
	s := &stream{in: in, file: file, own: true, done: make(chan struct{})}
	close(s.done)
	return s, nil
}

// grown is the size of a stream that the program writes to by itself.
func (s *stream) grown() int64 {
	st, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return st.Size()
}

// reread is the beginning of it.
func (s *stream) reread() string {
	text, _ := io.ReadAll(io.NewSectionReader(s.file, 0, keptText))
	return string(text)
}
