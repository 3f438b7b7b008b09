package op

import (
	"strconv"
	"strings"
)

// Quote writes s as one word of a rule, in the quoting of testscript: a word
// that holds a space, a quote or a comment sign stands in single quotes, and a
// single quote within is doubled.
func Quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\r'#") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// Literal is the glob that matches path alone: what a glob would take for a
// pattern is escaped, placeholders excepted, and a name at the top of the tree
// is tied to it.
func Literal(path string) string {
	var b strings.Builder
	if path != "" && path != "." && !strings.Contains(path, "/") {
		b.WriteString("./")
	}
	for i := 0; i < len(path); {
		_, width := Hole(path[i:])
		if width > 0 {
			b.WriteString(path[i : i+width])
		} else {
			width = 1
			b.WriteString(Escape(path[i : i+width]))
		}
		i += width
	}
	return b.String()
}

// Special holds the bytes that mean something in a glob.
const Special = `*?[]{}\`

// Escape is the glob that matches text as it stands.
func Escape(text string) string {
	if !strings.ContainsAny(text, Special) {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(Special, text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Hole reads a placeholder at the start of s, "{1}", which stands for a name
// that varies from run to run. Its width is 0 where there is none; its number
// is 0 where that is too big.
func Hole(s string) (number, width int) {
	if s == "" || s[0] != '{' {
		return 0, 0
	}
	digits := len(s) - 1 - len(strings.TrimLeft(s[1:], "0123456789"))
	if digits == 0 || len(s) < digits+2 || s[digits+1] != '}' {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[1:digits+1], 10, 16)
	if err != nil {
		n = 0
	}
	return int(n), digits + 2
}
