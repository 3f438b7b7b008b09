//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"

	"faultlab/internal/op"
	"faultlab/internal/report"
)

// signature tells a script of ours, which may be written anew, from a file of
// the user's.
const signature = "Written by faultfs --repro."

// scripts writes a script for each finding into dir. A planner says how it is
// explored around a choice; nil is the choice alone.
func (e *experiment) scripts(dir string, r *report.Report, p *planner) error {
	if len(r.Findings) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usagef("write the scripts: %w", err)
	}
	taken := make(map[string]bool)
	for _, f := range r.Findings {
		text, err := e.script(f, p)
		if err != nil {
			return err
		}
		if err := writeScript(filepath.Join(dir, scriptName(f, taken)+".txtar"), text); err != nil {
			return err
		}
	}
	return nil
}

// writeScript replaces only what it has written itself.
func writeScript(path string, text []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(old, []byte(signature)) {
		return usagef("write the scripts: %s is there and is not ours: name another directory", path)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		return fmt.Errorf("write the scripts: %w", err)
	}
	return nil
}

// scriptName is made of the verdict and the path at which the fault struck.
func scriptName(f report.Finding, taken map[string]bool) string {
	_, path, _ := strings.Cut(f.Choice, "path=")
	path, _, _ = strings.Cut(path, " ")
	if path == "" {
		path = f.Choice
	}
	slug := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '_'
	}, f.Verdict+" "+strings.TrimPrefix(path, "./"))
	const longest = 80
	slug = strings.Trim(slug[:min(len(slug), longest)], "_.")
	name := slug
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", slug, i)
	}
	taken[name] = true
	return name
}

// script is a test that fails while a finding is there.
func (e *experiment) script(f report.Finding, p *planner) ([]byte, error) {
	a := &txtar.Archive{}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n# First seen at: %s\n", f.Verdict, oneLine(f.Cause), oneLine(f.Choice))
	fmt.Fprintf(&b, "# %s It fails while that is so, and passes once it is fixed, also\n# where the fix moves the operation.\n", signature)
	b.WriteString("[!exec:faultfs] skip 'faultfs is not on PATH'\n")
	var files pack
	flags, err := e.around(&b, f.Choice, p, &files)
	switch {
	case err != nil:
		return nil, err
	case flags == nil:
		err = e.asTyped(&b, f)
	default:
		words := slices.Concat([]string{"faultfs", e.name}, e.inlined(&b, &files), flags, e.carried(p.carry), []string{"--"}, e.anywhere())
		files.lay(&b, a)
		writeCommand(&b, a, words)
	}
	a.Comment = []byte(b.String())
	return txtar.Format(a), err
}

// around gives the flags that explore around a choice, or begin from what it has
// left, which is packed; nil is the choice alone.
func (e *experiment) around(b *strings.Builder, choice string, p *planner, files *pack) ([]string, error) {
	switch {
	case p != nil && p.narrow != nil:
		return p.narrow(choice)
	case p == nil || p.state == nil:
		return nil, nil
	}
	dir, err := p.state(choice)
	if err == nil {
		err = files.add(dir, "state")
	}
	if err != nil {
		fmt.Fprintf(b, "# (the state is not written here: %v)\n", err)
		return nil, nil
	}
	b.WriteString("# The files are what the crash has left: recovery must cope with that, or no crash may\n# leave the like any more.\n")
	return []string{"--state", "state"}, nil
}

// asTyped runs the finding's own command where it was typed.
func (e *experiment) asTyped(b *strings.Builder, f report.Finding) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "cd %s\nexec sh -c %s\n", op.Quote(dir), scriptWord(f.Repro))
	return nil
}

// carried are the user's flags that say what is run, and not what is tried.
func (e *experiment) carried(more []string) []string {
	var words []string
	carry := append([]string{"setup", "next", "check", "ignore", "allow", "timeout", "serve"}, more...)
	e.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(carry, f.Name) {
			return
		}
		for _, value := range values(f) {
			words = append(words, flagWords(f, value)...)
		}
	})
	return words
}

// anywhere is the command, so that it means the same in another directory.
func (e *experiment) anywhere() []string {
	args := slices.Clone(e.spec.Args)
	if strings.Contains(e.args[0], "/") {
		args[0] = e.spec.Program
	}
	return args
}

// writeCommand writes a line of a script. What does not fit on one goes to a
// file of the archive.
func writeCommand(b *strings.Builder, a *txtar.Archive, words []string) {
	quotedWords := make([]string, len(words))
	for i, w := range words {
		quotedWords[i] = scriptWord(w)
	}
	line := strings.Join(quotedWords, " ")
	if !strings.Contains(line, "\n") {
		b.WriteString("exec " + line + "\n")
		return
	}
	for i, w := range words {
		quotedWords[i] = quoted(w)
	}
	b.WriteString("exec sh command\n")
	a.Files = append(a.Files, txtar.File{Name: "command", Data: []byte("exec " + strings.Join(quotedWords, " ") + "\n")})
}

// scriptWord is a word as testscript reads it back.
func scriptWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\r'#$") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", "''") + "'"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// inlined packs the tree and returns the flag for it: its files where they are
// few and small, else where it lies.
func (e *experiment) inlined(b *strings.Builder, p *pack) []string {
	if e.spec.Tree == "" {
		return nil
	}
	dir, err := filepath.Abs(e.spec.Tree)
	if err == nil {
		err = p.add(dir, "tree")
	}
	if err != nil {
		fmt.Fprintf(b, "# (the tree is not written here: %v)\n", err)
		return []string{"--tree", dir}
	}
	return []string{"--tree", "tree"}
}
