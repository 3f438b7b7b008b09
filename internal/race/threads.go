//go:build linux

package race

import (
	"cmp"
	"fmt"
	"hash/fnv"
)

// byWhatTheyAre orders operations that wait, and with them the threads of one actor.
func byWhatTheyAre(a, b *pending) int {
	return cmp.Or(cmp.Compare(a.op.Kind, b.op.Kind), cmp.Compare(a.op.Path, b.op.Path), cmp.Compare(a.op.To, b.op.To),
		cmp.Compare(a.op.Size, b.op.Size), cmp.Compare(a.op.Off, b.op.Off), cmp.Compare(a.past(), b.past()), cmp.Compare(a.Op.Tid, b.Op.Tid))
}

// past names all that the thread has done before: of threads of one actor that are
// about to do the same it is the first difference there can be.
func (w *pending) past() uint64 { return w.player.past[w.Op.Tid] }

// remember adds an operation to what its thread has done.
func (pl *player) remember(w *pending) {
	if pl.past == nil {
		pl.past = make(map[int]uint64)
	}
	h := fnv.New64a()
	fmt.Fprint(h, w.past(), hash(w.op), w.op.Size)
	pl.past[w.Op.Tid] = h.Sum64()
}
