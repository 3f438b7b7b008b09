package verdict

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stuck reports whether all that is in the way, or left for ever, is what the
// experiment itself kept from being removed: nobody can unlink on a dead disk.
func (j judge) stuck() bool {
	if len(j.f.Stuck) == 0 {
		return false
	}
	in := []string{j.named()}
	if in[0] == "" {
		in = j.extras(j.f.Next.Tree)
	}
	return len(in) > 0 && !slices.ContainsFunc(in, func(path string) bool { return !j.kept(path) })
}

// kept reports whether path could not be removed, or holds what could not.
func (j judge) kept(path string) bool {
	path = unnumbered(path)
	return slices.ContainsFunc(j.f.Stuck, func(s string) bool {
		s = unnumbered(s)
		return s == path || strings.HasPrefix(s, path+"/")
	})
}

// unnumbered drops the numbers of placeholders: names in a tree are numbered by
// what they hold, those of operations by when they came.
func unnumbered(path string) string {
	var b strings.Builder
	for {
		head, rest, found := strings.Cut(path, "{")
		b.WriteString(head)
		if !found {
			return b.String()
		}
		b.WriteByte('{')
		path = strings.TrimLeft(rest, "0123456789")
	}
}

// named is the path, of those that the faulted run had left, that the next run's
// output names, by its canonical name; "" if none.
func (j judge) named() string {
	for _, name := range j.f.Names {
		if mentions(j.f.Next.Output, name.OnDisk) || mentions(j.f.Next.Output, base(name.OnDisk)) {
			return name.Canonical
		}
	}
	return ""
}

// mentions reports whether text holds name as a name.
func mentions(text, name string) bool {
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(name)
		if standsAlone(text, start, end) && (!isWord(name) || marked(text, start, end)) {
			return true
		}
		from = start + 1
	}
	return false
}

// standsAlone reports whether text[start:end] is no part of a longer name. A full
// stop ends a sentence where no name goes on behind it.
func standsAlone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, width := utf8.DecodeRuneInString(text[end:])
	if after == '.' {
		after, _ = utf8.DecodeRuneInString(text[end+width:])
	}
	return !inName(before) && !inName(after)
}

func inName(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isWord reports whether a name could be a word of any message: "lock", "a".
func isWord(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
}

// marked reports whether a word stands where a name would: behind a slash, in
// quotes, or before a colon.
func marked(text string, start, end int) bool {
	before, after := text[:start], text[end:]
	return strings.HasSuffix(before, "/") || strings.HasPrefix(after, ":") ||
		slices.ContainsFunc([]string{"'", "\"", "`", "‘", "“"}, func(q string) bool { return strings.HasSuffix(before, q) })
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
