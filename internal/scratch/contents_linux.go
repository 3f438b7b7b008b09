package scratch

import (
	"errors"

	"golang.org/x/sys/unix"
)

// smallFile is up to where one read and one write are the fastest copy.
const smallFile = 64 << 10

// fdWriter is a file as an io.Writer without os.File's poller.
type fdWriter int

func (w fdWriter) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n, err := unix.Write(int(w), p[done:])
		if err != nil && err != unix.EINTR {
			return done, err
		}
		done += max(n, 0)
	}
	return len(p), nil
}

// contents copies src to the empty file dst.
func (b *builder) contents(src, dst int, n *node) error {
	switch {
	case n.holds:
		return b.replaced(src, dst)
	case n.Size == 0:
		return nil
	case b.cloned(src, dst):
		return nil
	case n.Size <= smallFile:
		return b.small(src, dst)
	}
	return b.large(src, dst)
}

// cloned shares the blocks where the file system can, and asks only once where
// it cannot.
func (b *builder) cloned(src, dst int) bool {
	if b.noClone {
		return false
	}
	err := unix.IoctlFileClone(dst, src)
	b.noClone = err != nil
	return err == nil
}

// replaced gives the copy its own path where the base's stands: what a setup has
// written down must not lead a subject back to the base. The paths are of one
// length, so nothing moves.
func (b *builder) replaced(src, dst int) error {
	r := replacer{old: []byte(b.from), new: []byte(b.to), out: fdWriter(dst)}
	for {
		n, err := readSome(src, b.buf)
		if err != nil {
			return err
		}
		if n == 0 {
			return r.Flush()
		}
		if _, err := r.Write(b.buf[:n]); err != nil {
			return err
		}
	}
}

func (b *builder) small(src, dst int) error {
	for {
		n, err := readSome(src, b.buf)
		if err != nil || n == 0 {
			return err
		}
		if _, err := fdWriter(dst).Write(b.buf[:n]); err != nil {
			return err
		}
		if n < len(b.buf) {
			return nil
		}
	}
}

// large copies the stretches that hold data and leaves the holes.
func (b *builder) large(src, dst int) error {
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return err
	}
	if st.Blocks*512 >= st.Size {
		return b.stretch(src, dst, 0, st.Size)
	}
	if err := unix.Ftruncate(dst, st.Size); err != nil {
		return err
	}
	for end := int64(0); ; {
		start, err := unix.Seek(src, end, unix.SEEK_DATA)
		if err == unix.ENXIO {
			return nil
		}
		if err == nil {
			end, err = unix.Seek(src, start, unix.SEEK_HOLE)
		}
		if errors.Is(err, unix.EINVAL) {
			return b.stretch(src, dst, 0, st.Size)
		}
		if err != nil {
			return err
		}
		if err := b.stretch(src, dst, start, end); err != nil {
			return err
		}
	}
}

// stretch copies the bytes from start up to end, in the kernel where it will.
func (b *builder) stretch(src, dst int, start, end int64) error {
	in, out := start, start
	for in < end {
		n, err := unix.CopyFileRange(src, &in, dst, &out, int(min(end-in, 1<<30)), 0)
		if err == unix.EINTR {
			continue
		}
		if err == unix.ENOSPC || err == unix.EDQUOT || err == unix.EIO {
			return err
		}
		if err != nil || n <= 0 {
			return b.byHand(src, dst, in, end)
		}
	}
	return nil
}

func (b *builder) byHand(src, dst int, at, end int64) error {
	for at < end {
		n, err := unix.Pread(src, b.buf[:min(int64(len(b.buf)), end-at)], at)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		if _, err := unix.Seek(dst, at, unix.SEEK_SET); err != nil {
			return err
		}
		if _, err := fdWriter(dst).Write(b.buf[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
