package crash

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"faultlab/internal/report"
	"faultlab/internal/shim"
	"faultlab/internal/tree"
	"faultlab/internal/trial"
)

// A state as it lies in a directory of the user's: --keep leaves it so, scripts of
// --repro hold it so, and --state begins from it.
const (
	KeptTree   = "tree"
	keptStdout = "stdout" // what had been printed
	keptChoice = "choice"
)

// maxKept bounds the states that are left for looking at.
const maxKept = 100

// keep leaves a failing state in the user's directory, and the first of each
// cause where scripts are made of it.
func (c *Crash) keep(p planned, t *report.Trial) {
	if c.settings.Keep != "" && c.kept < maxKept {
		c.kept++
		dir := filepath.Join(c.settings.Keep, fmt.Sprintf("%03d", c.kept))
		if err := c.write(p, dir); err != nil {
			c.log.Note("the state %q could not be kept: %v", t.Choice, err)
		}
	}
	cause := t.Verdict + ": " + t.Cause
	if !c.settings.Witnesses || c.witnessed[cause] || len(c.witnessed) >= maxKept || c.large() {
		return
	}
	c.witnessed[cause] = true
	c.witnesses[t.Choice] = c.witness(p)
}

// witness is a state that was left for a script to be made of, or why it was not.
type witness struct {
	dir string
	err error
}

// witness leaves a state in the runner's scratch space, which is cleared whatever
// becomes of us.
func (c *Crash) witness(p planned) witness {
	shelf, err := c.runner.Shelf()
	if err != nil {
		return witness{err: err}
	}
	dir := filepath.Join(shelf, "state")
	return witness{dir, c.write(p, dir)}
}

// large reports whether a tree is more than a script can hold.
func (c *Crash) large() bool {
	const entries, bytes = 200, 16 << 20
	size := int64(0)
	for _, e := range c.controls.Base {
		size += e.Size
	}
	return len(c.controls.Base) > entries || size > bytes
}

// Witness is a directory that holds what a choice has left, as long as the runner
// is there. An error says why there is none.
func (c *Crash) Witness(choice string) (string, error) {
	w, left := c.witnesses[choice]
	switch {
	case left:
		return w.dir, w.err
	case c.large():
		return "", errors.New("it is too large")
	case len(c.witnessed) >= maxKept:
		return "", fmt.Errorf("those of %d causes are, and that is enough", maxKept)
	}
	return "", errors.New("another one of its cause is")
}

// write writes the choice, what had been said and the tree into a directory of its
// own: over what an earlier run has left there it would be no state.
func (c *Crash) write(p planned, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	at, err := filepath.Abs(filepath.Join(dir, KeptTree))
	if err != nil {
		return err
	}
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := c.copyBase(at); err != nil {
		return err
	}
	if err := p.builder(p.State)(at, func(string) {}); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		keptChoice: []byte(p.prefix + p.print(p.State) + "\n"), keptStdout: p.said0(p.State),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copyBase copies the base, with the modes that its copies have: in itself what is
// shut stands open.
func (c *Crash) copyBase(to string) error {
	if err := copyTree(c.runner.BaseDir(), to); err != nil {
		return err
	}
	paths := slices.Sorted(maps.Keys(c.controls.Base))
	for _, path := range slices.Backward(paths) { // a folder may shut what is in it
		e := c.controls.Base[path]
		if e.Kind == tree.Link {
			continue
		}
		if err := os.Chmod(filepath.Join(to, path), e.Perm); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies all that is in a directory into another one, with modes, links
// and holes.
func copyTree(from, to string) error {
	out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy %s: %w%s", from, err, trial.LastLine(string(out)))
	}
	return nil
}

// givenName is the choice that stands for the state in a directory.
func givenName(dir string) string { return "the state in " + dir }

// given is the state that the user names. What recovery makes of it decides
// whether anything else is to be tried.
func (c *Crash) given() trial.Case {
	dir := c.settings.State
	said, _ := os.ReadFile(filepath.Join(dir, keptStdout)) // where it had said nothing there may be none
	build := func(to string, touch func(string)) error {
		return replaceTree(filepath.Join(dir, KeptTree), to, touch)
	}
	return trial.Case{Choice: givenName(dir), State: &trial.State{Build: build, Said: said}}
}

// replaceTree makes one directory hold what another one does.
func replaceTree(from, to string, touch func(string)) error {
	touch(".")
	old, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range old {
		touch(e.Name())
		if err := removeAll(filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range list {
		touch(e.Name())
	}
	return copyTree(from, to)
}

// removeAll removes shut directories, too.
func removeAll(path string) error {
	err := filepath.WalkDir(path, func(at string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() && unix.Access(at, unix.R_OK|unix.W_OK|unix.X_OK) != nil {
			return os.Chmod(at, 0o700)
		}
		return err
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// judgeGiven judges the user's state. If recovery copes with it, that is all. If
// not, the program may yet be mended so that no crash leaves it any more: then all
// that a crash leaves now must hold.
func (c *Crash) judgeGiven(res trial.Result) []trial.Case {
	t := report.Trial{Choice: res.Case.Choice, Point: res.Case.Choice}
	if c.log.Result(t, res.Err) {
		return nil
	}
	choice, _ := os.ReadFile(filepath.Join(c.settings.State, keptChoice))
	res.Run.Done = strings.HasPrefix(string(choice), atTheEnd) && c.controls.Once.Status == 0
	j := c.runner.Judge(c.controls.Control, res.Run)
	t.Verdict, t.Cause, t.Detail = j.Verdict.String(), j.Cause, j.Detail
	c.log.Add(t, c.controls, res.Run)
	if !j.Finding {
		return nil
	}
	c.log.Note("%s: %s, %s; whether a crash can leave it, or the like, is shown by the other states", t.Choice, t.Verdict, t.Cause)
	cases := c.all()
	if len(cases) == 0 {
		c.log.Result(t, shim.Voidf("the program changes nothing that a crash could cut short"))
	}
	return c.log.Plan(cases)
}
