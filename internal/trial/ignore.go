//go:build linux

package trial

import (
	"strings"

	"faultlab/internal/op"
)

// AnyName makes a glob of a canonical path or selector: what varies from run to
// run may be anything.
func AnyName(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		_, width := op.Hole(path[i:])
		if width > 0 {
			b.WriteByte('*')
		} else {
			width = 1
			b.WriteByte(path[i])
		}
		i += width
	}
	return b.String()
}

// Ignoring is what a user types behind --ignore, so that the differences of a path
// do not count: a word of a shell that holds a glob of names as they are on disk.
func Ignoring(path string) string {
	glob := AnyName(op.Literal(path))
	if plain := strings.TrimPrefix(glob, "./"); plain == path {
		glob = path
	}
	if strings.ContainsAny(glob, " \t\n*?[]{}\\'\"$`&;|<>()#~!") {
		return "'" + strings.ReplaceAll(glob, "'", `'\''`) + "'"
	}
	return glob
}
