//go:build linux

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"faultlab/internal/shim"
)

// The program and the files that its arguments name are found once, as the user
// meant them where the command was typed. What a program is to make cannot be
// told from any other word: {tree}/NAME says it.

const inTree = "{tree}"

// program is the absolute path of the executable, or a path in the copy.
func (e *experiment) program(args []string) (string, error) {
	if rest, ok := strings.CutPrefix(args[0], inTree+"/"); ok {
		root, _ := shim.ResolveTree(e.spec.Tree)
		if e.spec.Setup != "" {
			return args[0], nil // which makes it, or makes it executable
		}
		path := filepath.Join(root, rest)
		if _, err := os.Stat(path); e.spec.Tree == "" || err != nil {
			return "", usagef("program %q: neither the tree nor a setup has it", args[0])
		}
		if _, err := exec.LookPath(path); err != nil {
			return "", usagef("start the program %q: %w: %s", args[0], cause(err), cure(path, err))
		}
		return args[0], nil
	}
	cmd, err := subject(streams{in: os.Stdin}, args)
	if err != nil {
		return "", err
	}
	return filepath.Abs(cmd.Path)
}

// located makes the program's name and the arguments that name files mean the
// same in a copy; relative says that the program always starts there.
func (e *experiment) located(args []string, relative bool) []string {
	out := []string{args[0]}
	if !relative && strings.Contains(args[0], "/") {
		out[0] = e.spec.Program
	}
	for i, arg := range args[1:] {
		if i == 0 && !relative && e.commandWord(arg) {
			out = append(out, arg)
			continue
		}
		out = append(out, e.locate(arg, relative))
	}
	return out
}

// commandWord reports whether the first argument is rather the name of a command
// than that of a folder: npm test, make build.
func (e *experiment) commandWord(arg string) bool {
	if strings.ContainsAny(arg, "/.") {
		return false
	}
	fi, err := os.Stat(filepath.Join(e.spec.Tree, arg))
	return err == nil && fi.IsDir()
}

// assignment is an argument that holds a value: --data=DIR, if=FILE.
var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([-\w]+=)(.+)$`) })

func (e *experiment) locate(arg string, relative bool) string {
	if found := e.find(arg, relative); found != arg {
		if !relative && !strings.ContainsAny(arg, "/.") {
			e.words = append(e.words, arg)
		}
		return found
	}
	if a := assignment().FindStringSubmatch(arg); a != nil {
		return a[1] + e.find(a[2], relative)
	}
	return arg
}

// find is where a file lies that is named in the tree or in the current directory;
// what is no such name is returned as it is.
func (e *experiment) find(arg string, relative bool) string {
	if arg == "" || arg[0] == '-' || filepath.IsAbs(arg) || strings.Contains(arg, inTree) {
		return arg
	}
	root, _ := shim.ResolveTree(e.spec.Tree)
	if _, err := os.Lstat(filepath.Join(root, arg)); e.spec.Tree != "" && err == nil {
		if relative {
			return arg
		}
		return filepath.Join(inTree, arg)
	}
	abs, err := filepath.Abs(arg)
	if _, missing := os.Lstat(abs); err != nil || missing != nil {
		return arg
	}
	if rest, err := filepath.Rel(root, abs); e.spec.Tree != "" && err == nil && filepath.IsLocal(rest) {
		return filepath.Join(inTree, rest)
	}
	return abs
}

// settled are the program's arguments once the setup has run: what it has made is
// meant by its name, as what the tree had from the beginning.
func (e *experiment) settled(made func(path string) bool) []string {
	find := func(arg string) string {
		path := filepath.Clean(arg)
		if arg == "" || arg[0] == '-' || strings.Contains(arg, inTree) || !filepath.IsLocal(path) || !made(path) {
			return arg
		}
		return filepath.Join(inTree, path)
	}
	args := slices.Clone(e.spec.Args)
	for i := range args[1:] {
		arg := &args[i+1]
		if found := find(*arg); found != *arg {
			if !strings.ContainsAny(*arg, "/.") {
				e.words = append(e.words, *arg)
			}
			*arg = found
		} else if a := assignment().FindStringSubmatch(*arg); a != nil {
			*arg = a[1] + find(a[2])
		}
	}
	return args
}
