package op

import "strings"

// Quote writes s as one word of a rule, in the quoting of testscript: a word
// that holds a space, a quote or a comment sign stands in single quotes, and a
// single quote within is doubled.
func Quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\r'#") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
