package scratch

import (
	"fmt"
	"path/filepath"
	"testing"
)

// many is a base of 10,000 small files in 100 directories.
func many(b *testing.B) *Base {
	b.Helper()
	base, err := newSpace(b).NewBase("")
	must(b, err)
	for i := range 10_000 {
		write(b, filepath.Join(base.Dir(), fmt.Sprintf("d%02d/file%d", i%100, i)), fmt.Sprintf("contents of %d\n", i))
	}
	must(b, base.Freeze())
	return base
}

func BenchmarkOneTouched(b *testing.B) {
	c := newCopy(b, many(b))
	for b.Loop() {
		must(b, appendTo(filepath.Join(c.Tree(), "d07/file7"), "x"))
		c.Touch("d07/file7")
		d, err := c.Delta()
		must(b, err)
		if len(d) != 1 {
			b.Fatal(d)
		}
		must(b, c.Reset())
	}
}

func BenchmarkTouchAll(b *testing.B) {
	c := newCopy(b, many(b))
	for b.Loop() {
		must(b, appendTo(filepath.Join(c.Tree(), "d07/file7"), "x"))
		c.TouchAll()
		_, err := c.Delta()
		must(b, err)
		must(b, c.Reset())
	}
}

func BenchmarkFullCopy(b *testing.B) {
	base := many(b)
	for b.Loop() {
		c := newCopy(b, base)
		b.StopTimer()
		must(b, c.Close())
		b.StartTimer()
	}
}
