package rule

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// checkPath asks whether glob could match any path of an operation: those are
// clean, and end in no slash.
func checkPath(glob string) error {
	if glob == "" {
		return errors.New("path= needs a glob")
	}
	if !doublestar.ValidatePattern(glob) {
		return malformed(glob)
	}
	if glob == "/" || glob == "." {
		return nil
	}
	for _, name := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/"), "/") {
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("bad glob %q: it matches no path: expected no empty name, no . and no .. between slashes", glob)
		}
	}
	return checkHoles(glob)
}

// checkProc asks whether glob could match the base name of a program.
func checkProc(glob string) error {
	switch {
	case glob == "":
		return errors.New("proc= needs a glob")
	case !doublestar.ValidatePattern(glob):
		return malformed(glob)
	case strings.Contains(glob, "/"):
		return fmt.Errorf("bad glob %q: proc is a program's base name: expected no slash", glob)
	case hasHole(glob):
		return fmt.Errorf("bad glob %q: a placeholder such as {1} stands in path only", glob)
	}
	return nil
}

func malformed(glob string) error {
	return fmt.Errorf(`bad glob %q: expected each [, { and } to have its other half, no empty class, and no \ at the end`, glob)
}

// matchPath turns a path glob into a test of op.Path. Root is the tree's
// absolute path.
func matchPath(glob, root string) func(name string) bool {
	switch {
	case glob == "":
		return inside
	case glob[0] == '/':
		return matchAbsolute(glob, root)
	case strings.HasPrefix(glob, "./"):
		return matchWhole(glob[len("./"):])
	case strings.Contains(glob, "/"):
		return matchWhole(glob)
	}
	match := matchName(glob)
	return func(name string) bool {
		return inside(name) && match(base(name))
	}
}

// inside tells paths in the tree from those outside. The path of what has
// none, such as sync, is empty and inside.
func inside(name string) bool { return name == "" || name[0] != '/' }

func matchWhole(glob string) func(string) bool {
	if text, ok := unescape(glob); ok {
		return equals(text)
	}
	match := remember(matchGlob(glob))
	return func(name string) bool { return inside(name) && match(name) }
}

// matchName does without remembering, because a glob over one short name is
// matched in the time that a map takes, unless it branches.
func matchName(glob string) func(string) bool {
	if text, ok := unescape(glob); ok {
		return equals(text)
	}
	if strings.Contains(glob, "{") {
		return remember(matchGlob(glob))
	}
	return matchGlob(glob)
}

func matchAbsolute(glob, root string) func(string) bool {
	root = path.Clean("/" + root)
	if text, ok := unescape(glob); ok {
		return equals(relative(text, root))
	}
	match := matchGlob(glob)
	return remember(func(name string) bool {
		if inside(name) {
			name = path.Join(root, name)
		}
		return match(name)
	})
}

// relative names the absolute path name as op.Path does.
func relative(name, root string) string {
	if name == root {
		return "."
	}
	if root != "/" {
		root += "/"
	}
	if rest, ok := strings.CutPrefix(name, root); ok {
		return rest
	}
	return name
}

func equals(text string) func(string) bool {
	return func(name string) bool { return name == text }
}

func matchGlob(glob string) func(string) bool {
	if hasHole(glob) {
		return newHoles(glob).match
	}
	return func(name string) bool { return doublestar.MatchUnvalidated(glob, name) }
}

// unescape returns the one text that glob matches, if there is only one.
func unescape(glob string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?', '[', '{':
			return "", false
		case '\\':
			i++
		}
		b.WriteByte(glob[i])
	}
	return b.String(), true
}

// remembered bounds what one glob keeps: a run that touches more paths than
// this pays for matching some again.
const remembered = 4096

// remember keeps match's answers. Match must give the same one each time.
func remember(match func(string) bool) func(string) bool {
	known := make(map[string]bool)
	return func(name string) bool {
		hit, ok := known[name]
		if ok {
			return hit
		}
		if len(known) >= remembered {
			clear(known)
		}
		hit = match(name)
		known[name] = hit
		return hit
	}
}

// OnPath reports whether a glob without placeholders matches a path of the tree:
// one without a slash the base name at any depth.
func OnPath(glob, path string) bool {
	if !strings.Contains(glob, "/") {
		path = base(path)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), path)
}
