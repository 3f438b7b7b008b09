//go:build linux

package crash

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"

	"faultlab/internal/record"
)

const (
	page   = 4096
	sector = 512
)

// sum adds up over the pages of a file, so that changing one page changes it by
// that page alone. A page of zeros counts nothing: a hole is as good.
type sum [2]uint64

func (s sum) plus(t sum) sum  { return sum{s[0] + t[0], s[1] + t[1]} }
func (s sum) minus(t sum) sum { return sum{s[0] - t[0], s[1] - t[1]} }

var zeroPage = make([]byte, page)

func pageSum(n int64, p []byte) sum {
	if isZero(p) {
		return sum{}
	}
	h := sha256.New()
	var at [8]byte
	binary.LittleEndian.PutUint64(at[:], uint64(n))
	h.Write(at[:])
	h.Write(p)
	var out [sha256.Size]byte
	h.Sum(out[:0])
	return sum{binary.LittleEndian.Uint64(out[:]), binary.LittleEndian.Uint64(out[8:])}
}

func isZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// reader reads what a file held when the recording began. What it cannot fill is
// left as it is.
type reader func(id record.ID, off int64, buf []byte)

// image is what a file holds: pages over those of another image, over those of a
// file of the base. It never changes.
type image struct {
	under *image
	own   map[int64][]byte // by page number
	depth int
	size  int64
	base  record.ID // the file that shows through; 0: none
	limit int64     // bytes of it that do
	sum   sum       // against the base
}

// maxDepth bounds how many images a page is looked for in.
const maxDepth = 12

func (im *image) above() *image {
	n := &image{under: im, own: make(map[int64][]byte), depth: im.depth + 1,
		size: im.size, base: im.base, limit: im.limit, sum: im.sum}
	if n.depth > maxDepth {
		im.collect(n.own)
		n.under, n.depth = nil, 0
	}
	return n
}

// collect gathers all pages that lie over the base.
func (im *image) collect(into map[int64][]byte) {
	if im.under != nil {
		im.under.collect(into)
	}
	maps.Copy(into, im.own)
}

func (im *image) page(read reader, n int64) []byte {
	for i := im; i != nil; i = i.under {
		if p, ok := i.own[n]; ok {
			return p
		}
	}
	at := n * page
	if im.base == 0 || at >= im.limit {
		return zeroPage
	}
	p := make([]byte, page)
	read(im.base, at, p[:min(page, im.limit-at)])
	return p
}

// bytes is the stretch from off up to end.
func (im *image) bytes(read reader, off, end int64) []byte {
	out := make([]byte, 0, end-off)
	for off < end {
		p := im.page(read, off/page)
		from := off % page
		n := min(page-from, end-off)
		out = append(out, p[from:from+n]...)
		off += n
	}
	return out
}

// write is the image with data at off. It is no longer than before where keeps is
// set.
func (im *image) write(read reader, off int64, data []byte, keeps bool) *image {
	n := im.above()
	if keeps {
		data = data[:max(0, min(int64(len(data)), im.size-off))]
	}
	for at := off; len(data) > 0; {
		number, from := at/page, at%page
		k := min(page-from, int64(len(data)))
		n.patch(read, number, from, data[:k])
		data, at = data[k:], at+k
		n.size = max(n.size, at)
	}
	return n
}

func (im *image) patch(read reader, number, from int64, data []byte) {
	old := im.page(read, number)
	p := make([]byte, page)
	copy(p, old)
	copy(p[from:], data)
	im.own[number] = p
	im.sum = im.sum.plus(pageSum(number, p)).minus(pageSum(number, old))
}

// resize is the image with another length.
func (im *image) resize(read reader, size int64) *image {
	if size == 0 {
		return new(image)
	}
	n := im.above()
	for at := size; at < im.size; {
		end := min((at/page+1)*page, im.size)
		if !isZero(im.page(read, at/page)[at%page:]) {
			n.patch(read, at/page, at%page, zeroPage[at%page:])
		}
		at = end
	}
	n.size = size
	return n
}

// content tells images apart.
type content struct {
	base record.ID
	size int64
	sum  sum
}

func (im *image) content() content { return content{im.base, im.size, im.sum} }
