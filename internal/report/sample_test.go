package report

import "fmt"

const again = `faultfs sweep --check 'jq -e . champion.json' --tree data --only %s -- worker run --data {tree} --candidate c1.json`

func bytesOf(n int64) *int64 { return &n }

// clean is a report that found nothing, having looked everywhere.
func clean() *Report {
	r := &Report{Version: SchemaVersion, Experiment: "sweep", Command: "faultfs sweep -- sqlite3 {tree}/a.db 'insert into t values (1)'",
		Coverage: Coverage{Points: 2, Planned: 4, Ran: 4, Complete: true}}
	for _, point := range []string{"write path=a.db nth=1", "sync path=a.db nth=1"} {
		r.Trials = append(r.Trials,
			Trial{Choice: point + " do fail EIO", Point: point, Fault: "EIO", Verdict: "rolled-back"},
			Trial{Choice: point + " do kill", Point: point, Fault: "kill", Verdict: "healed"})
	}
	r.Summary = Tally(r.Trials)
	return r
}

// interrupted is a report that found nothing yet.
func interrupted() *Report {
	return &Report{Version: SchemaVersion, Experiment: "crash", Command: "faultfs crash -- ./store",
		Coverage: Coverage{Points: 61, Planned: 1540, Ran: 400, Why: "interrupted"},
		Summary:  map[string]int{"rolled-back": 310, "healed": 90}}
}

// broken is a report with several causes, with evidence, and with bytes that
// every form must survive.
func broken() *Report {
	r := &Report{Version: SchemaVersion, Experiment: "sweep", Command: "faultfs sweep --tree data -- worker run",
		Coverage: Coverage{Points: 3, Planned: 10, Ran: 8, Void: 1, Unreached: 1, Why: "void: the control's write to log.{1} did not come"},
		Notes:    []string{"cache/index is read and never changed: one open and one read fault stand for all"}}
	lock, out := "create path=run.lock nth=1", "write path=\"a </script> \x1b[31m.json\" nth=1"
	add := func(point, fault, verdict, cause string, finding bool) *Trial {
		choice := point + " do " + fault
		r.Trials = append(r.Trials, Trial{Choice: choice, Point: point, Fault: fault, Verdict: verdict, Cause: cause,
			Finding: finding, Repro: fmt.Sprintf("faultfs sweep --tree data --only '%s' -- worker run", choice)})
		return &r.Trials[len(r.Trials)-1]
	}
	add(lock, "fail ENOSPC", "tolerated", "", false)
	add(lock, "kill after", "refused", "run.lock is left behind and names its holder", false)
	for _, k := range []string{"short 1", "short 7", "kill mid 1", "kill mid 7", "kill mid 100"} {
		t := add(out, k, "torn", "the output is left half written", true)
		t.Detail = "The write was cut, the program reported success, and the next run reads \x00\x1b]0;half\x07 as a score. What it should have kept is gone."
	}
	t := add("unlink path=run.lock nth=1", "fail EIO", "refused", "run.lock is left behind and blocks the next run", true)
	t.Detail, t.Status = "The next run fails: \"run.lock: held\".", "exit status 1"
	t.Evidence = &Evidence{
		Steps:  []Step{{Point: lock}, {Point: out, Bytes: bytesOf(12)}, {Point: "unlink path=run.lock nth=1", Result: "EIO", Fault: true}},
		Left:   []Change{{Path: "run.lock", Before: "absent", After: "file, 4 bytes", Head: "123\n"}},
		Stderr: "unlink run.lock: input/output error \x00 </script><!-- \u2028", Next: &Outcome{Status: "exit status 1", Output: "run.lock: held"},
	}
	r.Trials = append(r.Trials, Trial{Choice: "sync path=log.{1} nth=1 do fail EIO", Point: "sync path=log.{1} nth=1", Fault: "fail EIO", Verdict: "void"})
	r.Summary, r.Findings = Tally(r.Trials), Group(r.Trials)
	return r
}

func audit() *Report {
	r := Audit("faultfs audit -- worker run", []Report{*clean(), *broken(), *interrupted()})
	r.Notes = []string{"race wants two commands: it was left out"}
	return &r
}

var faults = []string{"fail ENOSPC", "fail EIO", "fail EACCES", "short 1", "kill", "kill mid 7", "kill after", "fail EINTR"}

// large is as large as reports of real programs are: some 220 operations times
// eight faults.
func large() *Report {
	r := &Report{Version: SchemaVersion, Experiment: "sweep", Command: fmt.Sprintf(again[:len(again)-len(" --only %s -- worker run --data {tree} --candidate c1.json")]+"%s", " -- worker run --data {tree} --candidate c1.json"),
		Notes: []string{"cache/dataset.bin is read and never changed: one open and one read fault stand for all of its operations."}}
	ops := samplePoints()
	for i, p := range ops {
		for j, f := range faults {
			if (i+j)%7 == 6 { // not every fault can happen everywhere
				continue
			}
			r.Trials = append(r.Trials, sampleTrial(ops, i, p, f))
		}
	}
	r.Summary, r.Findings = Tally(r.Trials), Group(r.Trials)
	r.Coverage = Coverage{Points: len(ops), Planned: len(r.Trials), Ran: len(r.Trials), Complete: true}
	return r
}

func samplePoints() []string {
	ops := []string{"create path=run.lock nth=1", "write path=run.lock nth=1", "close path=run.lock nth=1", "open path=champion.json nth=1", "read path=champion.json nth=1"}
	for i := range 100 {
		ops = append(ops, fmt.Sprintf("open path=dataset/shards/evaluation-2024-08/part-%03d.jsonl nth=1", i), fmt.Sprintf("write path=results.jsonl nth=%d", i+1))
	}
	ops = append(ops, "sync path=results.jsonl nth=1", "truncate path=champion.json nth=1", "write path=champion.json nth=1", "close path=champion.json nth=1")
	for i := range 8 {
		ops = append(ops, fmt.Sprintf("write path=fence/store.db nth=%d", i+1))
	}
	return append(ops, "sync path=fence/store.db nth=1", "attr path=champion.json nth=1", "unlink path=run.lock nth=1")
}

func sampleTrial(ops []string, i int, p, f string) Trial {
	t := Trial{Choice: p + " do " + f, Point: p, Fault: f, Verdict: "rolled-back", Status: "exit status 1"}
	t.Repro = fmt.Sprintf(again, "'"+t.Choice+"'")
	find := func(verdict, cause, detail string) {
		t.Verdict, t.Cause, t.Detail, t.Finding = verdict, cause, detail, true
	}
	kill := f[:4] == "kill"
	switch {
	case p == "write path=champion.json nth=1":
		find("torn", "champion.json is emptied before it is written again", "The program truncated champion.json and could not write it. The next run takes the empty file for a first start and promotes any candidate.")
	case p == "truncate path=champion.json nth=1" && f == "kill after":
		find("torn", "champion.json is emptied before it is written again", "The program was killed after truncating champion.json.")
	case p == "sync path=results.jsonl nth=1" && !kill:
		find("silent", "the failed sync of results.jsonl is passed over", "fsync failed with EIO, the record was reported as durable, and the exit status was 0.")
		t.Status = "exit status 0"
	case p == "write path=run.lock nth=1" && !kill:
		find("wedged", "run.lock is left empty and the next run waits for nobody", "The lock was created, its record could not be written, and it was not removed. The next run ends with “timed out” and names no path.")
	case p == "unlink path=run.lock nth=1" && !kill:
		find("refused", "run.lock is left behind and blocks the next run", "The lock could not be removed on exit. The next run says “run.lock: held by pid 1, gone”.")
	case p == "attr path=champion.json nth=1":
		find("violated", "champion.json is not readable by the group any more", "The check `jq -e . champion.json` failed: permission denied.")
	case p[:4] == "open" && i%20 == 7 && f == "fail EACCES":
		find("litter", "tmp.{1} stays in dataset/", "The run ended as the control, but a temporary file stays, and no run will ever clear it.")
	case p == "write path=run.lock nth=1", p == "close path=run.lock nth=1" && kill:
		t.Verdict = "refused"
	case kill && i%3 == 0:
		t.Verdict = "healed"
	case f == "fail EINTR", f == "short 1":
		t.Verdict, t.Status = "tolerated", ""
	case i%41 == 9:
		t.Verdict = "differs"
	}
	if t.Finding {
		t.Evidence = sampleEvidence(ops, i, f)
	}
	return t
}

func sampleEvidence(ops []string, at int, f string) *Evidence {
	ev := &Evidence{Stdout: "scored 0.8125 on 100 shards\n", Stderr: "worker: write champion.json: no space left on device\n",
		Control: []Change{{Path: "champion.json", Before: "file, 214 bytes", After: "file, 231 bytes", Head: `{"name":"c1","score":0.8125,"token":7}`},
			{Path: "results.jsonl", Before: "file, 1,024 bytes", After: "file, 1,101 bytes"}},
		Left: []Change{{Path: "champion.json", Before: "file, 214 bytes", After: "file, empty"}, {Path: "run.lock", Before: "absent", After: "file, 61 bytes", Head: "pid 4711 host a start 2024-08-01T12:00:00Z"},
			{Path: "results.jsonl", Before: "file, 1,024 bytes", After: "file, 1,101 bytes"}},
		After: []Change{{Path: "champion.json", Before: "file, 214 bytes", After: "file, 199 bytes", Head: `{"name":"bad","score":0.1}`}, {Path: "results.jsonl", Before: "file, 1,024 bytes", After: "file, 1,178 bytes"}},
		Next:  &Outcome{Status: "exit status 0", Output: "no champion yet: promoted c1"}, Check: &Outcome{Status: "exit status 0"}}
	for i, p := range ops[:at+1] {
		s := Step{Point: p, Fault: i == at}
		if p[:4] == "writ" {
			s.Bytes = bytesOf(77)
		}
		if s.Fault {
			s.Result = f
		}
		ev.Steps = append(ev.Steps, s)
	}
	return ev
}
