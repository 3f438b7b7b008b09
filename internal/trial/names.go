//go:build linux

package trial

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultlab/internal/op"
	"faultlab/internal/tree"
	"faultlab/internal/verdict"
)

// Names makes the names that vary from run to run (pids, random suffixes) the
// same in each: in every place of a template they are numbered in order of
// first appearance, as a rule's placeholders are. It serves one run.
type Names struct {
	stable    map[string]bool // names that every control has
	templates []template
	values    [][]string // by hole, over all templates
	known     map[string]string
}

// template is a path in which some components vary.
type template struct {
	parts []part
	first int // index of its first hole in Names.values
}

// part is one component: a whole name, or what stands before and behind the
// hole in it.
type part struct {
	head, tail string
	hole       bool
}

// Pattern is what the controls taught about names.
type Pattern struct {
	stable    map[string]bool
	templates []template
	holes     int
}

// Start is a fresh count, for one run.
func (p *Pattern) Start() *Names {
	return &Names{stable: p.stable, templates: p.templates,
		values: make([][]string, p.holes), known: make(map[string]string)}
}

// Learn compares the names of several runs of the same program, each list in
// order of first appearance and without repeats.
func Learn(runs ...[]string) *Pattern {
	p := &Pattern{stable: make(map[string]bool)}
	times := make(map[string]int)
	for _, names := range runs {
		for _, name := range names { // each once a run
			times[name]++
			p.stable[name] = times[name] == len(runs)
		}
	}
	for _, name := range runs[0] {
		if !p.stable[name] {
			p.add(name, runs[1:])
		}
	}
	slices.SortStableFunc(p.templates, func(a, b template) int { return cmp.Compare(b.fixed(), a.fixed()) })
	return p
}

// fixed is how many bytes a template fixes. What fixes more is tried first.
func (t template) fixed() int {
	n := 0
	for _, p := range t.parts {
		n += len(p.head) + len(p.tail)
	}
	return n
}

// add makes a template of a name and its counterparts in the other runs: there
// the unstable name that is most alike, and of several the first. A name without
// one stays as it is: it came in one run only.
func (p *Pattern) add(name string, others [][]string) {
	alike := [][]string{strings.Split(name, "/")}
	for _, names := range others {
		if parts := p.counterpart(alike[0], names); parts != nil {
			alike = append(alike, parts)
		}
	}
	t := template{first: p.holes}
	for i := range alike[0] {
		var variants []string
		for _, parts := range alike {
			variants = append(variants, parts[i])
		}
		part := generalize(variants)
		if part.hole {
			p.holes++
		}
		t.parts = append(t.parts, part)
	}
	known := slices.ContainsFunc(p.templates, func(k template) bool { return slices.Equal(k.parts, t.parts) })
	if p.holes == t.first || known {
		p.holes = t.first
		return
	}
	p.templates = append(p.templates, t)
}

// counterpart is the name of another run that shares most with a, nil if none is
// similar.
func (p *Pattern) counterpart(a []string, names []string) []string {
	var best []string
	most := -1
	for _, name := range names {
		b := strings.Split(name, "/")
		if p.stable[name] || !p.similar(a, b) {
			continue
		}
		if n := shared(a, b); n > most {
			best, most = b, n
		}
	}
	return best
}

// shared is how many bytes two names of one depth have in common.
func shared(a, b []string) int {
	n := 0
	for i := range a {
		part := generalize([]string{a[i], b[i]})
		n += len(part.head) + len(part.tail)
	}
	return n
}

// similar reports whether two names may be the same one but for what varies: as
// deep, and with the same ending or beginning where they differ.
func (p *Pattern) similar(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		stable := p.stable[strings.Join(a[:i+1], "/")] || p.stable[strings.Join(b[:i+1], "/")]
		part := generalize([]string{a[i], b[i]})
		if stable || part.head == "" && part.tail == "" && len(a[i]) != len(b[i]) && !(number(a[i]) && number(b[i])) {
			return false
		}
	}
	return true
}

func number(s string) bool { return strings.Trim(s, "0123456789") == "" }

// generalize finds the part of a name that varies. The hole is widened: that two
// random suffixes begin with the same letter says nothing.
func generalize(variants []string) part {
	head, tail := variants[0], variants[0]
	same := true
	for _, v := range variants[1:] {
		same = same && v == variants[0]
		head = head[:commonHead(head, v)]
		tail = tail[len(tail)-commonTail(tail, v):]
	}
	if same {
		return part{head: variants[0]}
	}
	head = head[:fixedHead(head)]
	tail = tail[wordEnd(tail):]
	for _, v := range variants {
		for len(head)+len(tail) >= len(v) { // the hole is never empty
			if tail != "" {
				tail = tail[1:]
			} else {
				head = head[:len(head)-1]
			}
		}
	}
	return part{head, tail, true}
}

func commonHead(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonTail(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// fixedHead is how much of the common beginning of some names is no chance: up
// to the last sign, and the letters behind it where they are a word of their own
// (sedAbC123), but never digits.
func fixedHead(head string) int {
	const word = 3 // letters that three random names do not share
	i := len(head)
	for i > 0 && '0' <= head[i-1] && head[i-1] <= '9' {
		i--
	}
	start := i
	for start > 0 && isWord(head[start-1]) {
		start--
	}
	if i-start >= word {
		return i
	}
	return start
}

// wordEnd is where the word at the beginning of tail ends.
func wordEnd(tail string) int {
	i := 0
	for i < len(tail) && isWord(tail[i]) {
		i++
	}
	return i
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// values are what stands in the holes of a name, nil where t does not match.
func (t template) values(name string) []string {
	var values []string
	for i, part := range t.parts {
		component, rest, more := strings.Cut(name, "/")
		if more == (i == len(t.parts)-1) {
			return nil
		}
		name = rest
		if !part.hole {
			if component != part.head {
				return nil
			}
			continue
		}
		if len(component) <= len(part.head)+len(part.tail) ||
			!strings.HasPrefix(component, part.head) || !strings.HasSuffix(component, part.tail) {
			return nil
		}
		values = append(values, component[len(part.head):len(component)-len(part.tail)])
	}
	return values
}

// Name is the canonical form of a path. It must be asked about every path of
// the run in the order in which they come.
func (n *Names) Name(path string) string {
	if path == "" || len(n.templates) == 0 {
		return path
	}
	if name, ok := n.known[path]; ok {
		return name
	}
	name := path
	for _, t := range n.templates {
		values := t.values(path)
		if values == nil {
			continue
		}
		// A stable name counts where it matches, for a rule would count it.
		canonical := n.fill(t, values)
		if !n.stable[path] && name == path {
			name = canonical
		}
	}
	n.known[path] = name
	return name
}

func (n *Names) fill(t template, values []string) string {
	var parts []string
	hole := 0
	for _, p := range t.parts {
		if !p.hole {
			parts = append(parts, p.head)
			continue
		}
		place := &n.values[t.first+hole]
		i := slices.Index(*place, values[hole])
		if i < 0 {
			i = len(*place)
			*place = append(*place, strings.Clone(values[hole]))
		}
		hole++
		parts = append(parts, fmt.Sprintf("%s{%d}%s", p.head, i+1, p.tail))
	}
	return strings.Join(parts, "/")
}

// Op renames the operation's paths. Those outside the tree stay.
func (n *Names) Op(o op.Op) op.Op {
	if o.Path != "" && o.Path[0] != '/' {
		o.Path = n.Name(o.Path)
	}
	if o.To != "" && o.To[0] != '/' {
		o.To = n.Name(o.To)
	}
	return o
}

// Tree makes the names of a tree comparable with another run's. Which of several
// alike came first says nothing about what is left of them: they are told apart by
// what they hold.
func (p *Pattern) Tree(d tree.Delta) tree.Delta {
	out := make(tree.Delta, len(d))
	groups := make(map[int][]string)
	for _, path := range d.Paths() {
		if t := p.template(path); t >= 0 {
			groups[t] = append(groups[t], path)
		} else {
			out[path] = d[path]
		}
	}
	for t, paths := range groups {
		slices.SortStableFunc(paths, func(a, b string) int { return compare(d[a], d[b]) })
		for i, path := range paths {
			out[p.templates[t].numbered(i+1)] = d[path]
		}
	}
	return out
}

// named gives each path of one tree its canonical name, with 1 in every place.
func (p *Pattern) named(paths []string) []verdict.Name {
	names := make([]verdict.Name, len(paths))
	for i, path := range paths {
		names[i] = verdict.Name{OnDisk: path, Canonical: path}
		if t := p.template(path); t >= 0 {
			names[i].Canonical = p.templates[t].numbered(1)
		}
	}
	return names
}

// Key is a name under which all that vary alike are one.
func (p *Pattern) Key(path string) string {
	if t := p.template(path); t >= 0 {
		return p.templates[t].numbered(0)
	}
	return path
}

// template is the index of the template that an unstable path follows, or -1.
func (p *Pattern) template(path string) int {
	if p.stable[path] {
		return -1
	}
	return slices.IndexFunc(p.templates, func(t template) bool { return t.values(path) != nil })
}

func compare(a, b tree.Entry) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(min(a.Size, 1), min(b.Size, 1)),
		cmp.Compare(a.Perm, b.Perm), bytes.Compare(a.Sum[:], b.Sum[:]))
}

// numbered fills every hole with the same number.
func (t template) numbered(n int) string {
	var parts []string
	for _, p := range t.parts {
		if p.hole {
			parts = append(parts, fmt.Sprintf("%s{%d}%s", p.head, n, p.tail))
		} else {
			parts = append(parts, p.head)
		}
	}
	return strings.Join(parts, "/")
}
