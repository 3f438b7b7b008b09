package report

import (
	"cmp"
	"maps"
	"slices"
)

// Group makes findings of trials: one for each verdict and cause, worst first;
// of two that are equally bad the one with more witnesses, then by choice. The
// first witness is the first in the order of trials, so for the same report
// twice they must come in the order planned, not in that of their ends.
func Group(trials []Trial) []Finding {
	type key struct{ verdict, cause string }
	at := make(map[key]int)
	var found []Finding
	for _, t := range trials {
		if !t.Finding {
			continue
		}
		k := key{t.Verdict, t.Cause}
		i, known := at[k]
		if !known {
			i, at[k] = len(found), len(found)
			found = append(found, Finding{Verdict: t.Verdict, Cause: t.Cause,
				Choice: t.Choice, Detail: t.Detail, Repro: t.Repro, Picture: t.Picture})
		}
		found[i].Witnesses = append(found[i].Witnesses, t.Choice)
	}
	worstFirst(found)
	return found
}

func worstFirst(found []Finding) {
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(severity(a.Verdict), severity(b.Verdict)),
			cmp.Compare(len(b.Witnesses), len(a.Witnesses)),
			cmp.Compare(a.Choice, b.Choice),
			cmp.Compare(a.Verdict, b.Verdict),
			cmp.Compare(a.Cause, b.Cause))
	})
}

// Tally counts trials by verdict, for Report.Summary. What did not take place
// has no verdict, and is counted in Coverage alone.
func Tally(trials []Trial) map[string]int {
	n := make(map[string]int)
	for _, t := range trials {
		if isVerdict(t.Verdict) {
			n[t.Verdict]++
		}
	}
	return n
}

// Audit puts the reports of several experiments into one. Its findings are all
// of theirs, so that a reader who knows nothing of parts misses none.
func Audit(command string, parts []Report) Report {
	r := Report{Version: SchemaVersion, Experiment: "audit", Command: command,
		Summary: make(map[string]int), Parts: parts}
	for _, p := range parts {
		for verdict, n := range p.Summary {
			r.Summary[verdict] += n
		}
	}
	r.Coverage, r.Findings = r.total(), r.found()
	return r
}

// found are the findings, also where only the trials or the parts hold them:
// what renders a report must not call one clean for a field left empty.
func (r *Report) found() []Finding {
	var all []Finding
	for i := range r.Parts {
		all = append(all, r.Parts[i].found()...)
	}
	if len(all) == 0 {
		all = slices.Clone(r.Findings)
	}
	if len(all) == 0 {
		return Group(r.Trials)
	}
	worstFirst(all)
	return all
}

// total is the coverage, summed over the parts where there are any.
func (r *Report) total() Coverage {
	if len(r.Parts) == 0 {
		return r.Coverage
	}
	sum := Coverage{Complete: r.Coverage.Complete || r.Coverage == Coverage{}, Why: r.Coverage.Why}
	for i := range r.Parts {
		c := r.Parts[i].total()
		sum.Points += c.Points
		sum.Planned += c.Planned
		sum.Ran += c.Ran
		sum.Void += c.Void
		sum.Unreached += c.Unreached
		sum.Complete = sum.Complete && c.Complete
		sum.Why = cmp.Or(sum.Why, c.Why)
	}
	return sum
}

type tally struct {
	word
	N int
}

// listed counts the trials that are no findings, by verdict, the most telling
// first. The summary counts findings too, so their witnesses are taken off.
func (r *Report) listed() []tally {
	n := maps.Clone(r.Summary)
	if len(n) == 0 {
		n = Tally(r.Trials)
	}
	for _, f := range r.found() {
		n[f.Verdict] -= max(1, len(f.Witnesses))
	}
	var rest []tally
	for verdict, count := range n {
		if count > 0 && isVerdict(verdict) {
			rest = append(rest, tally{wordOf(verdict), count})
		}
	}
	slices.SortFunc(rest, func(a, b tally) int {
		return cmp.Or(cmp.Compare(severity(a.name), severity(b.name)), cmp.Compare(a.name, b.name))
	})
	return rest
}
