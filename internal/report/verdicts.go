package report

import "slices"

// tier is how a verdict looks: what it costs the user, in five steps.
type tier string

const (
	grave    tier = "grave"    // data or a promise is gone
	blocking tier = "blocking" // work stands still until a person comes
	residue  tier = "residue"  // something stays behind
	listed   tier = "listed"   // no finding, but not as without a fault
	good     tier = "good"
	none     tier = "none" // no verdict: void, unreached, control
)

type word struct {
	name, glyph string
	tier        tier
	meaning     string // completes "so many experiments: …"
}

// words are the verdicts, worst first; the order is that of findings.
var words = []word{
	{"escape", "E", grave, "wrote outside the tree, where the control does not"},
	{"violated", "V", grave, "the user's check fails"},
	{"lost", "L", grave, "what had been reported as done is gone"},
	{"torn", "T", grave, "a file is neither as before nor as it should be"},
	{"silent", "S", grave, "success was reported, the effect is not there"},
	{"overlap", "2", grave, "two were inside at once"},
	{"raced", "∥", grave, "the tree is as after no order one by one"},
	{"bypassed", "B", grave, "a guard let through what it must stop"},
	{"crashed", "!", grave, "ended by what no program should meet, such as a segmentation fault"},
	{"deadlock", "D", blocking, "the actors wait for each other"},
	{"wedged", "W", blocking, "the next run fails and does not say why"},
	{"refused", "R", blocking, "refuses, and says why: the next run, or a start"},
	{"litter", "+", residue, "files stay that no run will clear"},
	{"orphan", "O", residue, "a descendant lives on"},
	{"hang", "H", residue, "did not end in time"},
	{"differs", "≠", listed, "ended neither as before nor as the control, without harm that shows"},
	{"healed", "h", listed, "something was left, and the next run coped"},
	{"rolled-back", "↺", good, "all as before, and the next run works"},
	{"tolerated", "·", good, "ended as without the fault"},
	{"unreached", "–", none, "the operation did not come in that run"},
	{"void", "?", none, "the experiment did not take place"},
	{"control", "c", none, "the run without a fault"},
}

// wordOf is what is known of a verdict. One that a newer experiment has made up
// comes after all findings that are known, and looks like one of them.
func wordOf(verdict string) word {
	if i := severity(verdict); i < len(words) {
		return words[i]
	}
	glyph := "!"
	for _, r := range verdict {
		glyph = string(r)
		break
	}
	return word{name: verdict, glyph: glyph, tier: residue}
}

func severity(verdict string) int {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == verdict })
	if i < 0 {
		return len(words)
	}
	return i
}

// isVerdict is false of what an experiment ends with that showed nothing.
func isVerdict(verdict string) bool { return verdict != "" && wordOf(verdict).tier != none }

// tierOf is how a trial looks: the same verdict can be a finding after an
// error and merely listed after a kill.
func tierOf(verdict string, finding bool) tier {
	t := wordOf(verdict).tier
	switch {
	case finding && (t == listed || t == good || t == none):
		return residue
	case !finding && t != good && t != none:
		return listed
	}
	return t
}
