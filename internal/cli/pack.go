//go:build linux

package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// pack puts directories into an archive. Files of plain text stand there as they
// are, for a person to read; what an archive cannot hold (modes, links, bytes
// that are no text) a shell makes when the archive has been laid out.
type pack struct {
	files []txtar.File
	// coded are the files that are no text. They are numbered: their names may be
	// none that an archive can hold.
	coded  int
	size   int      // bytes of all files, as they are written
	mkdirs []string // directories, outer ones first
	lines  []string // of the shell
	chmods []string
}

// Bounds on what is written into a script.
const (
	mostPacked   = 100      // entries of a directory
	sizePacked   = 64 << 10 // bytes, of all, as they are written
	largestFile  = 8 << 20  // bytes, before they are compressed
	longestWord  = 512      // bytes of a text that stands in a command
	compressible = 256      // bytes from which on it is worth it
)

// add packs dir under the name as. After an error nothing of it is packed.
func (p *pack) add(dir, as string) error {
	a := adding{pack: *p, dir: dir, as: as, names: make(map[uint64]string)}
	if err := filepath.WalkDir(dir, a.entry); err != nil {
		return err
	}
	*p = a.pack
	return nil
}

// adding is one directory on its way into a pack.
type adding struct {
	pack
	dir, as string
	entries int
	names   map[uint64]string // of files with several names, by inode
}

func (a *adding) entry(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	info, err := d.Info()
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(a.dir, path)
	if err != nil {
		return err
	}
	if a.entries++; a.entries > mostPacked {
		return errors.New("it is too large")
	}
	name := filepath.Join(a.as, rel)
	switch info.Mode().Type() {
	case fs.ModeDir:
		a.mkdirs = append(a.mkdirs, quoted(name))
		a.chmods = append(a.chmods, chmodLine(info, name))
		return nil
	case fs.ModeSymlink:
		return a.link(path, name)
	case fs.ModeNamedPipe:
		a.lines = append(a.lines, "mkfifo "+quoted(name))
	case 0:
		if err := a.file(path, name, info); err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
	default:
		return fmt.Errorf("%s is neither file nor link", rel)
	}
	a.chmods = append(a.chmods, chmodLine(info, name))
	return nil
}

func chmodLine(info fs.FileInfo, name string) string {
	return fmt.Sprintf("chmod %o %s", info.Sys().(*syscall.Stat_t).Mode&0o7777, quoted(name))
}

func (a *adding) link(path, name string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	if a.own([]byte(target)) {
		return errors.New("a link in it holds its own path")
	}
	a.lines = append(a.lines, "ln -s -- "+quoted(target)+" "+quoted(name))
	return nil
}

// own reports whether text holds the directory's own path, which is another one
// where the script runs.
func (a *adding) own(text []byte) bool { return bytes.Contains(text, []byte(a.dir)) }

func (a *adding) file(path, name string, info fs.FileInfo) error {
	st := info.Sys().(*syscall.Stat_t)
	if first := a.names[st.Ino]; first != "" {
		a.lines = append(a.lines, "ln "+quoted(first)+" "+quoted(name))
		return nil
	}
	if st.Nlink > 1 {
		a.names[st.Ino] = name
	}
	if info.Size() > largestFile {
		return errors.New("it is too large")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if a.own(text) {
		return errors.New("it holds its own path")
	}
	return a.contents(name, text)
}

// contents packs a file in the first of the forms that can hold it.
func (a *adding) contents(name string, text []byte) error {
	switch {
	case plainName(name) && survives(txtar.File{Name: name, Data: text}):
		a.files = append(a.files, txtar.File{Name: name, Data: text})
		a.size += len(text)
	case readable(text) && len(text) <= longestWord:
		line := "printf %s " + quoted(string(text)) + " > " + quoted(name)
		a.lines = append(a.lines, line)
		a.size += len(line)
	default:
		a.code(name, text)
	}
	if a.size > sizePacked {
		return errors.New("it is too large")
	}
	return nil
}

// code packs what is no text.
func (a *adding) code(name string, text []byte) {
	a.coded++
	as := fmt.Sprintf("packed/%d", a.coded)
	how := "base64 -d " + as
	if len(text) >= compressible {
		text = compressed(text)
		how += " | gzip -dc"
	}
	line := base64.StdEncoding.EncodeToString(text)
	var b bytes.Buffer
	for part := range slices.Chunk([]byte(line), 76) {
		b.Write(part)
		b.WriteByte('\n')
	}
	a.files = append(a.files, txtar.File{Name: as, Data: b.Bytes()})
	a.lines = append(a.lines, how+" > "+quoted(name))
	a.size += b.Len()
}

func compressed(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a good one
	_, _ = w.Write(text)                                  // to memory
	_ = w.Close()
	return b.Bytes()
}

// plainName reports whether a name stands in an archive as it is.
func plainName(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsAny(name, " \n\r\t$") && !strings.ContainsFunc(name, unicode.IsControl)
}

// survives reports whether a file comes out of an archive as it went in.
func survives(f txtar.File) bool {
	back := txtar.Parse(txtar.Format(&txtar.Archive{Files: []txtar.File{f}}))
	return readable(f.Data) && len(back.Files) == 1 && back.Files[0].Name == f.Name && bytes.Equal(back.Files[0].Data, f.Data)
}

// readable reports whether bytes are text that an editor leaves as it is.
func readable(text []byte) bool {
	return utf8.Valid(text) && !bytes.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t'
	})
}

// unpack is the name of the shell's part in an archive.
const unpack = "unpack"

// lay adds all that was packed to an archive, and to the script what makes it
// whole.
func (p *pack) lay(b *strings.Builder, a *txtar.Archive) {
	if len(p.mkdirs) == 0 {
		return
	}
	// A directory may be shut by its mode: those come last, the innermost first.
	slices.Reverse(p.chmods)
	lines := slices.Concat([]string{"set -e", "mkdir -p " + strings.Join(p.mkdirs, " ")}, p.lines, p.chmods)
	b.WriteString("exec sh " + unpack + "\n")
	a.Files = slices.Concat(a.Files, p.files, []txtar.File{{Name: unpack, Data: []byte(strings.Join(lines, "\n") + "\n")}})
}
