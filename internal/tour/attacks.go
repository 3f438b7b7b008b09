//go:build linux

package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// attack is one way to break a lock. Its run tells whether the design broke,
// and what was seen.
type attack struct {
	title   string
	mutants []string
	run     func(t *trial) (broken bool, what string, err error)
}

var attacks = []attack{
	{"The disk is full, or failing, while the lock's record is written.", []string{"no-rollback"}, fullDisk},
	{"A second worker comes between the making of the lock and the writing of its record.", []string{"create-then-write"}, halfMade},
	{"The holder was killed; two workers meet the stale lock at once.", []string{"link-then-reclaim"}, reclaim},
	{"A step fails while the lock is held.", []string{"release-at-tail"}, failingStep},
	{"The holder releases between another worker's open and flock of the same file.", []string{"unlink-flock"}, lateFlock},
	{"The holder is killed before, in the middle of, and after the writing of its record.", nil, killedWriting},
}

func fullDisk(t *trial) (bool, string, error) {
	var faults []string
	for _, errno := range []string{"ENOSPC", "EIO"} {
		for _, kind := range []string{"write", "sync", "close"} {
			faults = append(faults, fmt.Sprintf("%s path=run.lock nth=1 do fail %s", kind, errno))
		}
	}
	if t.mutant != "" {
		faults = faults[:1] // its record is written, and neither synced nor looked at on closing
	}
	for _, rule := range append(faults, "write path=run.lock nth=1 do short 7") {
		p, status, err := t.run([]string{rule})
		if err != nil {
			return false, "", err
		}
		if status == 0 {
			return false, "", fmt.Errorf("%s: the worker succeeded: %s", rule, p.out.String())
		}
		if t.exists("run.lock") {
			return true, "wedged: the lock is left, and nobody holds it", nil
		}
	}
	_, status, err := t.run(nil)
	if err != nil || status != 0 {
		return true, fmt.Sprintf("the next worker ends with %d", status), err
	}
	return false, fmt.Sprintf("%d of %d failures rolled back; the next worker promotes", len(faults)+1, len(faults)+1), nil
}

// both starts one worker that is held at an operation of taking the lock, and
// another one meanwhile, lets the first go on, and counts who is inside.
func both(t *trial, rule string, args ...string) (inside int, second *process, err error) {
	a, err := t.worker([]string{rule}, append(args, "--end", "wait")...)
	if err != nil {
		return 0, nil, err
	}
	held := func() bool { return t.exists("held") }
	if err := t.await(a, held); err != nil {
		return 0, nil, err
	}
	repeat := t.repeat
	b, err := t.worker(nil, append(args, "--end", "wait")...)
	if err != nil {
		return 0, nil, err
	}
	if err := t.await(b, b.inside); err != nil {
		return 0, nil, err
	}
	if err := t.release(); err != nil {
		return 0, nil, err
	}
	if err := t.await(a, a.inside); err != nil {
		return 0, nil, err
	}
	t.repeat = repeat + "   (and a second worker meanwhile; then touch DIR/go)"
	for _, p := range []*process{a, b} {
		if p.inside() {
			inside++
		}
	}
	return inside, b, nil
}

func halfMade(t *trial) (bool, string, error) {
	inside, b, err := both(t, "write path=run.lock nth=1 do hold until=go mark=held")
	if err != nil || inside == 2 {
		return inside == 2, "two are inside at once", err
	}
	if !strings.Contains(b.errs.String(), "half-made") {
		return false, "", fmt.Errorf("the refusal is not legible: %s", b.errs.String())
	}
	return false, "one is inside; the other was told that the lock is being written", nil
}

// stale leaves the lock of a holder that was killed.
func stale(t *trial) error {
	_, status, err := t.run([]string{"create path=results.jsonl do kill"})
	if err == nil && (status != 137 || !t.exists("run.lock")) {
		err = fmt.Errorf("the holder ended with %d and left no lock", status)
	}
	return err
}

func reclaim(t *trial) (bool, string, error) {
	if err := stale(t); err != nil {
		return false, "", err
	}
	if t.mutant != "" {
		inside, _, err := both(t, "rename path=run.lock nth=1 do hold until=go mark=held")
		return inside == 2, "two are inside at once", err
	}
	for range 2 {
		p, status, err := t.run(nil)
		if err != nil || status != 3 || !strings.Contains(p.errs.String(), "gone") {
			return false, "", errors.Join(err, fmt.Errorf("status %d: %s", status, p.errs.String()))
		}
	}
	return false, "both refused: the holder is gone; the command in the refusal clears it", clear(t)
}

// notBetter is the status of a worker that was inside and found the champion as
// good as its candidate.
const notBetter = 4

// clear runs the command that a refusal prints, to the letter.
func clear(t *trial) error {
	p, _, err := t.run(nil)
	if err != nil {
		return err
	}
	_, command, ok := strings.Cut(strings.TrimSpace(p.errs.String()), "clear it with: ")
	if !ok {
		return fmt.Errorf("the refusal names no command: %s", p.errs.String())
	}
	if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	_, status, err := t.run(nil)
	if err == nil && status != 0 && status != notBetter {
		err = fmt.Errorf("after %s the next worker ends with %d", command, status)
	}
	return err
}

func failingStep(t *trial) (bool, string, error) {
	_, status, err := t.run([]string{"rename path=champion.json do fail EIO"})
	if err != nil || status == 0 {
		return false, "", errors.Join(err, fmt.Errorf("the worker ended with %d", status))
	}
	if t.exists("run.lock") {
		return true, "wedged: the lock is left, and nobody holds it", nil
	}
	return false, "the error is reported, the lock given back", nil
}

func lateFlock(t *trial) (bool, string, error) {
	var args []string
	if t.mutant == "" {
		args = []string{"--lock", "flock"}
	}
	holder, err := t.worker(nil, append(args, "--end", "wait")...)
	if err != nil {
		return false, "", err
	}
	if err := t.await(holder, holder.inside); err != nil {
		return false, "", err
	}
	late, err := t.worker([]string{"lock path=run.lock nth=1 do hold until=go mark=held"}, append(args, "--end", "wait")...)
	if err != nil {
		return false, "", err
	}
	if err := t.await(late, func() bool { return t.exists("held") }); err != nil {
		return false, "", err
	}
	repeat := t.repeat
	if err := holder.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return false, "", err
	}
	if _, err := holder.status(); err != nil {
		return false, "", err
	}
	next, err := t.worker(nil, append(args, "--end", "wait")...)
	if err != nil {
		return false, "", err
	}
	if err := t.await(next, next.inside); err != nil {
		return false, "", err
	}
	if err := t.release(); err != nil {
		return false, "", err
	}
	if err := t.await(late, late.inside); err != nil {
		return false, "", err
	}
	t.repeat = repeat + "   (the holder ends, a third worker enters; then touch DIR/go)"
	if next.inside() && late.inside() {
		return true, "two are inside at once, each with a lock on a file of its own", nil
	}
	return false, "one is inside; the other was refused", nil
}

func killedWriting(t *trial) (bool, string, error) {
	for _, action := range []string{"kill", "kill mid 20", "kill after"} {
		_, status, err := t.run([]string{"write path=run.lock do " + action})
		if err != nil || status != 137 {
			return false, "", errors.Join(err, fmt.Errorf("%s: the worker ended with %d", action, status))
		}
		if _, status, err := t.run(nil); err != nil || status != 3 {
			return true, fmt.Sprintf("after %s the next worker ends with %d", action, status), err
		}
		if err := clear(t); err != nil {
			return true, err.Error(), nil
		}
	}
	return false, "3 of 3: the next worker is refused, and the command in the refusal clears it", nil
}
