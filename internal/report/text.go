package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TextOptions say where text is going.
type TextOptions struct {
	Terminal bool   // colour, unless NoColor is set
	NoColor  string // the value of $NO_COLOR
	Width    int    // in columns; 0: lines are not wrapped
}

// shownWitnesses is how many further witnesses of a finding text names; all are
// in the JSON.
const shownWitnesses = 3

// Text writes what a person reads in a terminal: the answer first, then the
// findings, worst first, then what they rest on.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	p := &printer{w: bufio.NewWriter(w), colour: o.Terminal && o.NoColor == "", width: o.Width}
	p.answer(r)
	if len(r.Parts) > 0 {
		p.audit(r)
	} else {
		p.body(r)
	}
	return p.w.Flush()
}

type printer struct {
	w      *bufio.Writer // keeps the first error for Flush
	colour bool
	width  int
}

func (p *printer) answer(r *Report) {
	style := "1"
	if len(r.found()) > 0 {
		style = "1;31"
	}
	p.para("", "", style, r.Answer())
}

func (p *printer) audit(r *Report) {
	fmt.Fprintln(p.w)
	for i := range r.Parts {
		part := &r.Parts[i]
		p.para(pad(part.Experiment, 7), "       ", "", fmt.Sprintf("%s behind it, %s: %s",
			count(part.total().Ran, "experiment"), part.outcome(), invariants[part.Experiment]))
	}
	p.notes(r)
	for i := range r.Parts {
		fmt.Fprintln(p.w)
		p.answer(&r.Parts[i])
		p.body(&r.Parts[i])
	}
}

// outcome is an invariant's state in a word or few. A part that is not complete
// holds nothing, whatever it has not found.
func (r *Report) outcome() string {
	n := len(r.found())
	switch {
	case n > 0 && r.Answered():
		return count(n, "finding")
	case n > 0:
		return count(n, "finding") + " so far"
	case !r.Answered():
		return "no answer"
	}
	return "holds"
}

func (p *printer) body(r *Report) {
	for i, f := range r.found() {
		fmt.Fprintln(p.w)
		p.finding(i+1, f)
	}
	fmt.Fprintln(p.w)
	p.para("coverage: ", "          ", "", r.coverage())
	if rest := r.listed(); len(rest) > 0 {
		p.para("", "", "", "not findings:")
		for _, t := range rest {
			p.para(fmt.Sprintf("  %s %7s  ", pad(t.name, 11), number(t.N)), strings.Repeat(" ", 23), "", t.meaning)
		}
	}
	p.notes(r)
}

func (p *printer) notes(r *Report) {
	for _, n := range r.Notes {
		p.para("note: ", "      ", "", n)
	}
}

func (p *printer) finding(n int, f Finding) {
	const indent = "   "
	ordinal, verdict := fmt.Sprintf("%d. ", n), printable(f.Verdict)
	p.para(ordinal+p.in("1;31", verdict)+"  ", pad("", utf8.RuneCountInString(ordinal+verdict)+2), "1", f.title())
	if f.Detail != "" {
		p.para(indent, indent, "", f.Detail)
	}
	for _, line := range f.Picture {
		fmt.Fprintln(p.w, strings.TrimRight(indent+"  "+printable(line), " "))
	}
	p.line(indent+"choice: ", f.Choice)
	if rest := f.others(); len(rest) > 0 {
		fmt.Fprintf(p.w, "%sand %s:\n", indent, count(len(rest), "further witness"+plural(len(rest), "", "e")))
		for _, c := range rest[:min(shownWitnesses, len(rest))] {
			p.line(indent+"  ", c)
		}
		if more := len(rest) - shownWitnesses; more > 0 {
			fmt.Fprintf(p.w, "%s  … and %s more\n", indent, number(more))
		}
	}
	if f.Repro != "" {
		fmt.Fprintf(p.w, "%sto see it again:\n", indent)
		p.line(indent+"  ", f.Repro)
	}
}

// plural is the middle of a plural that wants more than an s.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// line writes what is to be copied: it is never wrapped.
func (p *printer) line(prefix, s string) {
	fmt.Fprintf(p.w, "%s%s\n", prefix, printable(s))
}

// para writes s wrapped, its first line after first, the others after rest.
func (p *printer) para(first, rest, style, s string) {
	prefix := first
	for text := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		for _, l := range wrap(printable(text), p.width-utf8.RuneCountInString(rest)) {
			fmt.Fprintf(p.w, "%s%s\n", prefix, p.in(style, l))
			prefix = rest
		}
	}
}

func (p *printer) in(style, s string) string {
	if !p.colour || style == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[0m"
}

// wrap breaks s at blanks into lines of at most width runes, except for words
// that are longer. Without a width, or with one too narrow to read, it does not.
func wrap(s string, width int) []string {
	const narrowest = 20
	if width < narrowest {
		return []string{s}
	}
	var lines []string
	for utf8.RuneCountInString(s) > width {
		at := breakAt(s, width)
		if at < 0 {
			break
		}
		lines, s = append(lines, strings.TrimRight(s[:at], " ")), strings.TrimLeft(s[at:], " ")
	}
	return append(lines, s)
}

// breakAt is the last blank that leaves a line of at most width runes, or, where
// there is none, the first after it; -1 if there is none at all.
func breakAt(s string, width int) int {
	last, n := -1, 0
	for i, r := range s {
		if r == ' ' && i > 0 {
			if n > width && last > 0 {
				break
			}
			last = i
			if n > width {
				break
			}
		}
		n++
	}
	return last
}

// printable spells control characters out: a path or a message of the subject's
// must not steer the terminal.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}
