package guard

import (
	"fmt"
	"strconv"
	"strings"
)

// InsideError says that a path does not lie outside the root.
type InsideError struct {
	Path     string // as it was given
	Resolved string // where that is, free of links
	Root     Root
	How      string // "lies in", "contains", "is also known as /w/repo/x in", …
}

func (e *InsideError) Error() string {
	where := ""
	if e.Resolved != e.Path {
		where = " (that is " + show(e.Resolved) + ")"
	}
	return fmt.Sprintf("check that %s is outside the repository: it%s %s %s: move it out of the repository and name it there",
		show(e.Path), where, e.How, show(e.Root.Path))
}

// UndecidedError says that nobody can tell, which counts as a refusal.
type UndecidedError struct {
	Path string
	Why  string
	Cure string
	Err  error // what the system said, or nil
}

func (e *UndecidedError) Error() string {
	why := e.Why
	if e.Err != nil {
		why += " (" + strings.Join(strings.Fields(e.Err.Error()), " ") + ")"
	}
	return fmt.Sprintf("check that %s is outside the repository: cannot tell, so no: %s: %s", show(e.Path), why, e.Cure)
}

func (e *UndecidedError) Unwrap() error { return e.Err }

// NoRootError says that no root was found, so that nothing lies outside.
type NoRootError struct {
	Executable string // "" where even that is not known
	Why        string
	Cure       string
	Err        error
}

func (e *NoRootError) Error() string {
	why := e.Why
	if e.Err != nil {
		why += " (" + strings.Join(strings.Fields(e.Err.Error()), " ") + ")"
	}
	of := "this program"
	if e.Executable != "" {
		of = show(e.Executable)
	}
	return fmt.Sprintf("find the repository of %s: %s: %s", of, why, e.Cure)
}

func (e *NoRootError) Unwrap() error { return e.Err }

// show quotes what would not read as one word of a line.
func show(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == ' ' || r == '"' }) {
		return strconv.Quote(s)
	}
	return s
}
