package verdict

import "faultlab/internal/tree"

// withoutModes is the same but for permissions, which are 0 everywhere.
func withoutModes(c Control, f Faulted) (Control, Faulted) {
	base := make(tree.Snapshot, len(c.Base))
	for path, e := range c.Base {
		e.Perm = 0
		base[path] = e
	}
	c.Base = base
	c.Once.Tree, c.Twice.Tree = modeless(base, c.Once.Tree), modeless(base, c.Twice.Tree)
	f.Tree, f.Next.Tree = modeless(base, f.Tree), modeless(base, f.Next.Tree)
	return c, f
}

// modeless is a delta less its permissions, and less what differed by nothing
// else.
func modeless(base tree.Snapshot, d tree.Delta) tree.Delta {
	out := make(tree.Delta, len(d))
	for path, e := range d {
		e.Perm = 0
		if e.Kind == tree.Absent || !tree.Same(e, base[path], false) {
			out[path] = e
		}
	}
	return out
}
