package scratch

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"

	"faultlab/internal/tree"

	"golang.org/x/sys/unix"
)

// placeholder is how a tree's own path reads in sums and heads.
const placeholder = "{tree}"

// replacer writes what it is given to out, with every old as new: it finds also
// what arrives in pieces. Flush writes what it has kept back.
type replacer struct {
	old, new []byte
	out      io.Writer
	kept     []byte
	hits     int
}

func (r *replacer) Write(p []byte) (int, error) {
	r.kept = append(r.kept, p...)
	rest := r.kept
	for {
		i := bytes.Index(rest, r.old)
		if i < 0 {
			break
		}
		r.hits++
		if err := writeBoth(r.out, rest[:i], r.new); err != nil {
			return 0, err
		}
		rest = rest[i+len(r.old):]
	}
	// What is left may end in the beginning of old.
	if done := len(rest) - len(r.old) + 1; done > 0 {
		if _, err := r.out.Write(rest[:done]); err != nil {
			return 0, err
		}
		rest = rest[done:]
	}
	r.kept = append(r.kept[:0], rest...)
	return len(p), nil
}

func writeBoth(w io.Writer, a, b []byte) error {
	if _, err := w.Write(a); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

func (r *replacer) Flush() error {
	_, err := r.out.Write(r.kept)
	r.kept = r.kept[:0]
	return err
}

// digest takes the sum and the head of what is written to it.
type digest struct {
	sum  hash.Hash
	head []byte
}

func (d *digest) Write(p []byte) (int, error) {
	if room := tree.HeadSize - len(d.head); room > 0 {
		d.head = append(d.head, p[:min(room, len(p))]...)
	}
	return d.sum.Write(p)
}

// reader takes sums of what stands in one tree. It is reused from file to file.
type reader struct {
	whole, prefix digest
	own           [2]replacer // of whole and of prefix
	buf           []byte
}

func newReader(root string) *reader {
	r := &reader{buf: make([]byte, 64<<10)}
	for i, d := range []*digest{&r.whole, &r.prefix} {
		d.sum = sha256.New()
		r.own[i] = replacer{old: []byte(root), new: []byte(placeholder), out: d}
	}
	return r
}

func (r *reader) reset() {
	for i, d := range []*digest{&r.whole, &r.prefix} {
		d.sum.Reset()
		d.head = d.head[:0]
		r.own[i].hits, r.own[i].kept = 0, r.own[i].kept[:0]
	}
}

// take gives e the sum and head of what was written to whole, and reports
// whether the tree's own path was in it.
func (r *reader) take(e *tree.Entry) (holds bool) {
	r.own[0].Flush() // neither this nor a write to a digest fails
	r.whole.sum.Sum(e.Sum[:0])
	e.Head = string(r.whole.head)
	return r.own[0].hits > 0
}

func (r *reader) text(s string, e *tree.Entry) (holds bool) {
	r.reset()
	r.own[0].Write([]byte(s))
	return r.take(e)
}

// file reads an open file into e: sum, head, size, and whether it is base's file
// grown. Both sums are taken in one pass, since a path that begins in the base's
// last bytes reads differently in each.
func (r *reader) file(fd int, base *tree.Entry, e *tree.Entry) (holds bool, err error) {
	r.reset()
	var size, old int64
	if base != nil && base.Kind == tree.File {
		old = base.Size
	}
	for {
		n, err := readSome(fd, r.buf)
		if err != nil {
			return false, err
		}
		if n == 0 {
			break
		}
		r.own[0].Write(r.buf[:n])
		if old > 0 && old < e.Size && size < old {
			r.own[1].Write(r.buf[:min(int64(n), old-size)])
		}
		size += int64(n)
	}
	holds = r.take(e)
	if old > 0 && size > old && old < e.Size {
		r.own[1].Flush()
		e.Grown = [32]byte(r.prefix.sum.Sum(nil)) == base.Sum
	}
	e.Size = size
	return holds, nil
}

// readSome is one read: 0 at the end.
func readSome(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buf)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}
