//go:build linux

package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"faultlab/internal/launch"
	"faultlab/internal/op"
	"faultlab/internal/scratch"
)

// Start is how a subject comes to life. The zero value is the plain way: in the
// copy, with the user's environment. In its texts "{tree}" stands for the copy
// and "{case}" for a folder beside it that is this case's alone, and gone
// afterwards.
type Start struct {
	Dir string // working directory; "" is the copy
	// Program and Name (what it is told that it is called), where they are not
	// the Spec's.
	Program, Name string
	Relative      bool // the program is named by a path relative to Dir

	Bare  bool     // nothing of the user's environment
	Unset []string // variables that are taken away
	Set   []string // NAME=VALUE
	// Launch is what only the subject's own process can change.
	Launch []launch.Step

	// Prepare makes what the start needs, in {case} and elsewhere. What it
	// returns undoes what lies elsewhere.
	Prepare func(tree, folder string) (undo func(), err error)
	// Foreign are folders in {case} that are not the subject's to change.
	Foreign []string
	// Lent is a link in {case} to a folder elsewhere that is.
	Lent string
	// Temp says that the subject is not told of a folder of its own for
	// temporary files: it may make some where all programs do.
	Temp bool
	// Soon is called with {case} at the subject's first operation.
	Soon func(folder string)
}

// Unhad says that a start cannot be had on this machine, and why. It counts as
// not reached.
func Unhad(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreached, fmt.Sprintf(format, args...))
}

// setting is one case's start as it is set up.
type setting struct {
	Start
	tree, folder string
	undo         func()

	once    sync.Once
	begun   bool // its first operation has come
	foreign []string
	lent    string
	mu      sync.Mutex
	made    []string // temporary files, outside
}

// newSetting sets a case's start up in a copy.
func newSetting(s Start, at *scratch.Copy) (*setting, error) {
	st := &setting{Start: s, tree: at.Tree(), folder: filepath.Join(filepath.Dir(at.Tree()), "case"), undo: func() {}}
	for _, dir := range s.Foreign {
		st.foreign = append(st.foreign, st.fill(dir))
	}
	if s.Prepare == nil {
		return st, nil
	}
	if err := os.Mkdir(st.folder, 0o755); err != nil {
		return nil, err
	}
	undo, err := s.Prepare(st.tree, st.folder)
	if undo != nil {
		st.undo = undo
	}
	if err != nil {
		st.undo()
		return nil, err
	}
	if s.Lent != "" {
		st.lent = resolved(st.fill(s.Lent))
	}
	return st, nil
}

// struck takes down what lies outside of the copy, which is restored by itself.
func (s *setting) struck() {
	s.undo()
	for _, path := range s.made {
		_ = os.RemoveAll(path)
	}
}

// fill puts the paths of this case into a text.
func (s *setting) fill(text string) string {
	return strings.NewReplacer("{tree}", s.tree, "{case}", s.folder).Replace(text)
}

// names are paths of this case as they are called in every case.
func (s *setting) names(paths []string) []string {
	var names []string
	for _, path := range paths {
		for _, dir := range []struct{ path, name string }{{s.folder, "{case}"}, {s.tree, "{tree}"}} {
			if within(path, dir.path) {
				path = dir.name + strings.TrimPrefix(path, dir.path)
			}
		}
		names = append(names, path)
	}
	return names
}

// first is told of every operation.
func (s *setting) first() {
	if s != nil && s.Soon != nil {
		s.once.Do(func() { s.Soon(s.folder); s.begun = true })
	}
}

// missed reports whether what should happen at the first operation did not.
func (s *setting) missed() bool { return s.Soon != nil && !s.begun }

// denies reports whether a path is not the subject's, although it lies where the
// case's own files are.
func (s *setting) denies(path string) bool {
	return s != nil && slices.ContainsFunc(s.foreign, func(dir string) bool { return within(path, dir) })
}

// lends reports whether a path elsewhere is the subject's to change.
func (s *setting) lends(path string) bool {
	return s != nil && s.lent != "" && within(path, s.lent)
}

// temporary reports whether an operation makes a file where every program may,
// or is on one that was made so. What others have there stays out of reach.
func (s *setting) temporary(o *op.Op, path string) bool {
	if s == nil || !s.Temp {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.made, func(dir string) bool { return within(path, dir) }) {
		return true
	}
	makes := path == o.Path && op.SetOf(op.Create, op.Mkdir, op.Link).Has(o.Kind) || path == o.To
	dir := filepath.Dir(path)
	if !makes || o.Exists || dir != "/tmp" && dir != "/var/tmp" {
		return false
	}
	if _, err := os.Lstat(path); err == nil {
		return false // the other name of a rename or link: it is somebody's
	}
	s.made = append(s.made, path)
	return true
}

// environ is the subject's environment.
func (s *setting) environ(own []string) []string {
	env := os.Environ()
	if s.Bare {
		env = nil
		own = own[:1] // FAULTFS_TREE, by which a stray is known
	}
	env = with(env, own)
	for _, name := range s.Unset {
		env = without(env, name)
	}
	var more []string
	for _, text := range s.Set {
		more = append(more, s.fill(text))
	}
	return with(env, more)
}

// with sets variables, each of them once: of two with the same name one program
// sees the first and another one the last.
func with(env, more []string) []string {
	env = slices.Clone(env)
	for _, text := range more {
		name, _, _ := strings.Cut(text, "=")
		env = append(without(env, name), text)
	}
	return env
}

func without(env []string, name string) []string {
	return slices.DeleteFunc(env, func(text string) bool { return strings.HasPrefix(text, name+"=") })
}

// invocation is what is executed, and how.
func (s *setting) invocation(program string, args []string) (string, []string) {
	if s.Program != "" {
		program = s.Program
	}
	program = s.fill(program)
	args = slices.Clone(args)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "{tree}", s.tree)
	}
	if s.Name != "" {
		args[0] = s.fill(s.Name)
	}
	if s.Relative {
		if rel, err := filepath.Rel(s.dir(), program); err == nil { // both are absolute
			program, args[0] = rel, rel
		}
	}
	if s.Launch != nil {
		program, args = launch.Command(s.Launch, program, args)
	}
	return program, args
}

func (s *setting) dir() string {
	if s.Dir == "" {
		return s.tree
	}
	return s.fill(s.Dir)
}

// refusal is why the launcher could not start the program, if it could not.
func (s *setting) refusal(o Outcome) error {
	if s == nil || s.Launch == nil || o.Signal != 0 {
		return nil
	}
	if why, yes := launch.Failed(o.Code, o.Stderr); yes {
		return Unhad("%s", why)
	}
	return nil
}
