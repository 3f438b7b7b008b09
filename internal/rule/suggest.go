package rule

import (
	"fmt"
	"strings"
)

// unknown says that got is no such thing, which of known was perhaps meant,
// and, in list, what there is.
func unknown(thing, got string, known []string, list string) string {
	msg := fmt.Sprintf("unknown %s %q", thing, got)
	if near := nearestWord(got, known); near != "" {
		msg += fmt.Sprintf(": did you mean %q?", near)
	}
	if list != "" {
		msg += " (" + list + ")"
	}
	return msg
}

// unknownName is unknown for names that are too many to list: where none is
// near it gives examples.
func unknownName(thing, got string, known []string, examples string) string {
	if nearestWord(got, known) != "" {
		examples = ""
	} else {
		examples = "want one such as " + examples
	}
	return unknown(thing, got, known, examples)
}

// nearestWord is the first of known that a slip or two turns into got,
// capitals aside; empty where none is that near.
func nearestWord(got string, known []string) string {
	if len(got) > 40 {
		return "" // no name is that long: spare the work
	}
	best, least := "", min(2, len(got)/2)+1
	for _, k := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of single-byte edits, and swaps of neighbours, that
// turn a into b.
func distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
