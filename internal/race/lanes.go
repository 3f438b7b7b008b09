//go:build linux

package race

import (
	"fmt"
	"strings"
)

// Bounds on a picture of lanes.
const (
	laneWidth = 44 // columns of one actor's lane
	mostLines = 80
)

// Lanes draws an order, one column an actor, one line an operation. The two
// operations whose order decides are marked.
func Lanes(steps []Step, actors int) []string {
	width := 0
	for _, s := range steps {
		width = max(width, min(len(short(s)), laneWidth))
	}
	first, second := deciding(steps)
	head := make([]string, actors)
	for i := range head {
		head[i] = string(letter(i))
	}
	lines := []string{line(head, width, " ")}
	for i, s := range steps {
		cells := make([]string, actors)
		cells[s.Actor-'A'] = clip(short(s), laneWidth)
		mark := " "
		if i == first || i == second {
			mark = "▶"
		}
		lines = append(lines, line(cells, width, mark))
	}
	if over := len(lines) - mostLines; over > 0 {
		cut := []string{fmt.Sprintf("  … %d operations …", over+1)}
		lines = append(lines[:1:1], append(cut, lines[over+2:]...)...)
	}
	return lines
}

func line(cells []string, width int, mark string) string {
	var b strings.Builder
	b.WriteString(mark + " ")
	for _, c := range cells {
		fmt.Fprintf(&b, "%-*s  ", width, c)
	}
	return strings.TrimRight(b.String(), " ")
}

// short is an operation as a lane has room for it.
func short(s Step) string {
	text := s.Op.Kind.String() + " " + s.Op.Path
	if s.Op.To != "" {
		text += " → " + s.Op.To
	}
	if s.Dies {
		text = "killed before " + text
	}
	return text
}

func clip(s string, width int) string {
	if len(s) <= width {
		return s
	}
	return strings.ToValidUTF8(s[:width-1], "") + "…"
}

// deciding are the two operations whose order matters most: the one before which
// an actor was left last by choice, as it came in the end, and the first of the
// others' before it that it depends on; -1 where there are none.
func deciding(steps []Step) (first, second int) {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Dies {
			return i, min(i+1, len(steps)-1)
		}
		if !steps[i].Forced || steps[i].From == 0 {
			continue
		}
		for j := i; j < len(steps); j++ {
			if steps[j].Actor != steps[i].From {
				continue
			}
			for k := i; k < j; k++ {
				if steps[k].Actor != steps[j].Actor && meet(steps[k].uses, steps[j].uses) {
					return k, j
				}
			}
		}
	}
	return -1, -1
}
