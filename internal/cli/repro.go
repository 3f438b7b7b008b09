//go:build linux

package cli

import (
	"bytes"
	"errors"
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

// scripts writes a script for each finding into dir. Narrow gives the flags
// that explore around a choice; nil is the choice alone.
func (e *experiment) scripts(dir string, r *report.Report, narrow func(choice string) ([]string, error)) error {
	if len(r.Findings) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usagef("write the scripts: %w", err)
	}
	taken := make(map[string]bool)
	for _, f := range r.Findings {
		text, err := e.script(f, narrow)
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
func (e *experiment) script(f report.Finding, narrow func(string) ([]string, error)) ([]byte, error) {
	a := &txtar.Archive{}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n# First seen at: %s\n", f.Verdict, oneLine(f.Cause), oneLine(f.Choice))
	fmt.Fprintf(&b, "# %s It fails while that is so, and passes once it is fixed, also\n# where the fix moves the operation.\n", signature)
	b.WriteString("[!exec:faultfs] skip 'faultfs is not on PATH'\n")
	if narrow == nil {
		if err := e.asTyped(&b, f); err != nil {
			return nil, err
		}
	} else {
		flags, err := narrow(f.Choice)
		if err != nil {
			return nil, err
		}
		words := slices.Concat([]string{"faultfs", e.name}, e.inlined(&b, a), flags, e.carried(), []string{"--"}, e.anywhere())
		writeCommand(&b, a, words)
	}
	a.Comment = []byte(b.String())
	return txtar.Format(a), nil
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
func (e *experiment) carried() []string {
	var words []string
	e.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"setup", "next", "check", "ignore", "allow", "timeout"}, f.Name) {
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

// inlined puts the tree into the archive and returns the flag for it: its files
// where they are few and plain, else where it lies.
func (e *experiment) inlined(b *strings.Builder, a *txtar.Archive) []string {
	if e.spec.Tree == "" {
		return nil
	}
	setup, files, err := inline(e.spec.Tree)
	if err != nil {
		dir, absErr := filepath.Abs(e.spec.Tree)
		if absErr != nil {
			dir = e.spec.Tree
		}
		fmt.Fprintf(b, "# (the tree is not written here: %v)\n", err)
		return []string{"--tree", dir}
	}
	b.WriteString(setup)
	a.Files = append(a.Files, files...)
	return []string{"--tree", "tree"}
}

// Bounds on a tree that is written into a script.
const (
	mostInlined  = 40       // entries
	sizeInlined  = 32 << 10 // bytes, of all
	plainFile    = 0o644
	plainProgram = 0o755
)

// inline gives the commands and the files that make dir again, or the reason why
// they cannot.
func inline(dir string) (setup string, files []txtar.File, err error) {
	var b strings.Builder
	b.WriteString("mkdir tree\n")
	entries, size := 0, 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.Join("tree", rel)
		entries++
		size += int(info.Size())
		switch {
		case entries > mostInlined || !d.IsDir() && size > sizeInlined:
			return errors.New("it is too large")
		case strings.ContainsAny(name, " \n\r\t'$#"):
			return fmt.Errorf("%s has an odd name", rel)
		case d.IsDir() && info.Mode().Perm() == plainProgram:
			fmt.Fprintf(&b, "mkdir %s\n", name)
			return nil
		case !info.Mode().IsRegular() || info.Mode().Perm()&^0o111 != plainFile:
			return fmt.Errorf("%s is no plain file", rel)
		}
		if info.Mode().Perm() != plainFile {
			fmt.Fprintf(&b, "chmod %o %s\n", info.Mode().Perm(), name)
		}
		data, err := os.ReadFile(path)
		files = append(files, txtar.File{Name: name, Data: data})
		return err
	})
	if err != nil {
		return "", nil, err
	}
	return b.String(), files, survive(files)
}

// survive reports files that would not come out of an archive as they went in.
func survive(files []txtar.File) error {
	back := txtar.Parse(txtar.Format(&txtar.Archive{Files: files}))
	for i, f := range files {
		if i >= len(back.Files) || back.Files[i].Name != f.Name || !bytes.Equal(back.Files[i].Data, f.Data) || bytes.IndexByte(f.Data, 0) >= 0 {
			return fmt.Errorf("%s is no text", strings.TrimPrefix(f.Name, "tree/"))
		}
	}
	return nil
}
