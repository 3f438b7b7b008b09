package verdict

import (
	"fmt"
	"slices"
	"strings"

	"faultlab/internal/tree"
)

// cause is what makes findings one: what varies from fault to fault is not in it.
func (j judge) cause(v Verdict) string {
	switch v {
	case Hang:
		return j.f.Hang
	case Orphan:
		return "a process lives on: " + programs(j.f.Orphans)
	case Escape:
		return "writes outside the tree: " + list(j.f.Escapes)
	case Violated:
		return "the check fails" + because(j.f.Check.Output)
	case Lost:
		return j.lostCause()
	case Silent:
		return j.silentCause()
	case Refused:
		named := j.named()
		return named + " is left behind and blocks the next run, which names it" + j.besides(named)
	case Wedged:
		changed := j.changed(j.f.Tree)
		return "the next run fails without saying what is in its way; left behind: " + list(changed) + j.besides(changed...)
	case Torn:
		return list(j.torn()) + ": neither old nor new, and the next run does not mend it"
	case Litter:
		return "left behind, and not cleared by the next run: " + list(j.litter())
	}
	return ""
}

// besides names what is damaged where that is more than what was told: a lock that
// is left and a lost file are mended in two places, and the one must not hide the
// other.
func (j judge) besides(told ...string) string {
	damaged := j.damaged()
	if len(damaged) == 0 || slices.Equal(damaged, told) {
		return ""
	}
	return "; neither old nor new: " + list(damaged)
}

// lostCause leaves out what it is that was lost: it is another thing after each
// fault, and of one root.
func (j judge) lostCause() string {
	if j.f.Check.saysLost() {
		return "what had been acknowledged is not there"
	}
	return "the program had ended with success, and what it had done is gone"
}

func (j judge) silentCause() string {
	wrong := j.wrong(j.f.Tree)
	if len(wrong) == 0 {
		return "a failed sync is reported as success: " + j.f.SyncLost
	}
	return fmt.Sprintf("ends with status %d as if all were well, but %s", j.f.Status, j.describe(wrong, j.f.Tree))
}

// describe says what is wrong with a few paths.
func (j judge) describe(paths []string, d tree.Delta) string {
	var parts []string
	for _, path := range paths {
		got, want := j.at(d, path), j.at(j.Once.Tree, path)
		switch {
		case want.Kind == tree.Absent:
			parts = append(parts, path+" is left behind")
		case got.Kind == tree.Absent:
			parts = append(parts, path+" is missing")
		case got.Empty() && !want.Empty():
			parts = append(parts, path+" is empty")
		case got.Sum == want.Sum && got.Kind == want.Kind:
			parts = append(parts, fmt.Sprintf("%s has mode %04o and not %04o", path, uint32(got.Perm), uint32(want.Perm)))
		case j.Base[path].Kind != tree.Absent && tree.Same(got, j.Base[path], false):
			parts = append(parts, path+" is as before")
		default:
			parts = append(parts, path+" is not as it should be")
		}
	}
	return list(parts)
}

// litter lists the extra files of the state in which they were judged.
func (j judge) litter() []string {
	d := j.f.Next.Tree
	if j.f.Status == j.Once.Status && !j.f.Killed {
		d = j.f.Tree
	}
	return j.extras(d)
}

// extras lists the paths in d that are there neither before nor in any control.
func (j judge) extras(d tree.Delta) []string {
	return slices.DeleteFunc(j.wrong(d), func(p string) bool { return !j.extra(p) })
}

// changed lists what is not as before.
func (j judge) changed(d tree.Delta) []string {
	paths := slices.DeleteFunc(d.Paths(), func(path string) bool { return d[path].Kind == tree.Absent })
	if len(paths) == 0 {
		return []string{"nothing"}
	}
	return paths
}

// detail says how the runs ended.
func (j judge) detail() string {
	var b strings.Builder
	switch {
	case j.f.Hang != "":
		return j.f.Hang
	case j.f.Killed:
		b.WriteString("killed")
	default:
		fmt.Fprintf(&b, "exit status %d (control %d)", j.f.Status, j.Once.Status)
	}
	if len(j.f.Tree) == 0 {
		b.WriteString(", the tree as before")
	} else {
		b.WriteString(", left: " + j.state(j.f.Tree))
	}
	fmt.Fprintf(&b, "; the next run: status %d (control %d)", j.f.Next.Status, j.reference())
	if !j.f.Next.Own {
		if wrong := j.wrong(j.f.Next.Tree); len(wrong) > 0 {
			b.WriteString(", not as control: " + j.describe(wrong, j.f.Next.Tree))
		}
	}
	if j.f.Next.Status != 0 {
		b.WriteString(because(j.f.Next.Output))
	}
	if gone := j.gone(); len(gone) > 0 {
		b.WriteString("; gone: " + list(gone))
	}
	if j.f.Check.Failed {
		b.WriteString("; the check fails" + because(j.f.Check.Output))
	}
	return b.String()
}

func (j judge) state(d tree.Delta) string {
	var parts []string
	for _, path := range d.Paths() {
		parts = append(parts, fmt.Sprintf("%s (%v)", path, d[path]))
	}
	return list(parts)
}

// because quotes the last line of some output.
func because(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	const longest = 200
	if len(last) > longest {
		last = strings.ToValidUTF8(last[:longest], "") + "…"
	}
	return ": " + last
}

// list joins a few names and counts the rest.
func list(names []string) string {
	const most = 4
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// programs strips the process ids from orphans, for they vary.
func programs(orphans []string) string {
	var out []string
	for _, o := range orphans {
		_, name, _ := strings.Cut(o, " ")
		out = append(out, name)
	}
	slices.Sort(out)
	return list(slices.Compact(out))
}
