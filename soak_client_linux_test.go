package faultlab_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What can be done to a worker: to its lock, its data directory, its lease and
// the store. The store's own operations come first, and more often.
var (
	soakFaults = []string{
		"write path=s.db nth=%d do fail ENOSPC", "write path=s.db nth=%d do fail EIO", "write path=s.db nth=%d do short 40 fail ENOSPC",
		"sync path=s.db nth=%d do fail EIO", "sync path=s.db nth=%d do fail ENOSPC", "write path=s.db nth=%d do delay 10ms", "sync path=s.db do delay 20ms",
		"open path=s.db do fail EMFILE", "lock path=s.db do fail ENOLCK", "write path=.s.db.creating nth=%d do fail ENOSPC",
		"write path=run.lock do fail ENOSPC", "sync path=run.lock do fail EIO", "unlink path=run.lock do fail EIO",
		"write path=results.jsonl do short 30 fail ENOSPC", "sync path=results.jsonl do fail EIO", "rename path=champion.json do fail EIO",
		"connect path=c.sock nth=%d do fail ECONNREFUSED", "connect path=c.sock nth=%d do delay 20ms",
	}
	soakKills = []string{
		"write path=s.db nth=%d do kill", "write path=s.db nth=%d do kill after", "write path=s.db nth=%d do kill mid 40",
		"sync path=s.db nth=%d do kill", "sync path=s.db nth=%d do kill after", "rename path=.s.db.creating do kill",
		"create path=run.lock do kill after", "write path=run.lock do kill mid 20", "unlink path=run.lock do kill",
		"write path=results.jsonl do kill mid 30", "write path=champion.json.tmp do kill", "rename path=champion.json do kill after",
		"connect path=c.sock nth=%d do kill", "connect path=c.sock nth=%d do kill after",
	}
	soakStalls = []string{"open path=s.db nth=1", "open path=s.db nth=1", "open path=s.db nth=1", "write path=s.db nth=2", "connect path=c.sock nth=2"}
)

// choose is what happens to a run: nothing, a fault, a kill or a stall. A rule
// whose operation never comes does nothing.
func (c *client) choose(name string) (rule string, stalls bool) {
	one := func(of []string) string {
		rule := of[c.rng.IntN(len(of))]
		if strings.Contains(rule, "%d") {
			rule = fmt.Sprintf(rule, 1+c.rng.IntN(3))
		}
		return rule
	}
	switch n := c.rng.IntN(20); {
	case n < 4:
		return "", false
	case n < 9 && c.mutant == "":
		return one(soakFaults), false
	case n < 14 && c.mutant == "":
		return one(soakKills), false
	}
	if c.awake.Load() < 6 { // nobody would be left to pass them
		return "", false
	}
	return fmt.Sprintf("%s do hold until=%s.go mark=%[2]s.held", one(soakStalls), name), true
}

// stall lets others pass a worker that is held, if it comes so far: its lease
// runs out, and an operator who takes it for dead may clear its lock.
func (c *client) stall(p *process, rule string) {
	c.awake.Add(-1)
	defer c.awake.Add(1)
	if !c.await(p, time.Minute, func() bool { return c.exists(p.name + ".held") }) {
		return
	}
	c.stalls.Add(1)
	c.pass()
	limit := 200 * time.Millisecond // for those whom nobody can pass
	if token := p.said(`(?m)^locked (\S+)$`); c.rng.IntN(4) > 0 {
		c.taken.Store(true)
		c.unlock(token)
		if !strings.Contains(rule, "write") {
			limit = 2 * time.Second
		}
	}
	passed := c.done.Load() + 1 + c.rng.Int64N(2)
	c.await(p, limit, func() bool { return c.done.Load() >= passed || c.awake.Load() == 0 })
	if p.said(`(?m)^(stored)`) == "" {
		p.from = c.history.now() // only now may it go on, and put
	}
	c.write(p.name+".go", "")
}

func (c *client) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(c.dir, name))
	return err == nil
}

// await looks until it is so, the process is over or the time is.
func (c *client) await(p *process, limit time.Duration, so func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if so() {
			return true
		}
		select {
		case <-p.over:
			return false
		case <-time.After(2 * time.Millisecond):
		}
	}
	return false
}

func (c *client) unlock(token string) {
	cmd := exec.Command("worker", "unlock", "--data", "data", "--token", token)
	cmd.Dir = c.dir
	_ = cmd.Run() // another operator may have been first
}

// giveWay does what a refusal asks for: it clears the lock of who is gone, and
// waits for who is not.
func (c *client) giveWay(p *process) {
	err := p.err.String()
	_, command, _ := strings.Cut(err, "clear it with: ")
	switch {
	case strings.Contains(err, "grant data: held by"):
		c.pass()
	case strings.Contains(err, "which is gone"), strings.Contains(err, "half-made") && c.rng.IntN(4) == 0:
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = c.dir
		_ = cmd.Run()
	default:
		// A start costs more than a look, and only one of those who wait gets it.
		limit := time.Duration(500+c.rng.IntN(1000)) * time.Millisecond
		for end := time.Now().Add(limit); time.Now().Before(end) && c.exists("data/run.lock"); {
			time.Sleep(time.Duration(5+c.rng.IntN(200)) * time.Millisecond)
		}
	}
}

// note adds a put to the history, if there was one.
func (c *client) note(p *process) {
	err := p.err.String()
	c.count(p, err)
	token, _ := strconv.ParseUint(p.said(`(?m)^granted (\d+)@`), 10, 64)
	put := request{token, p.name}
	switch {
	case token == 0:
	case p.said(`(?m)^(stored)`) != "", strings.Contains(err, "worker: put s.db: ") && strings.Contains(err, "it holds the new state"):
		c.done.Add(1)
		c.history.add(c.id, p.from, put, answer{end: done})
	case p.code == 5:
		mark, _ := strconv.ParseUint(between(err, "was written under token ", "@"), 10, 64)
		c.history.add(c.id, p.from, put, answer{end: stale, seen: register{mark: mark}})
	case p.code == 4, strings.Contains(err, "it holds the old state"), strings.Contains(err, ": in use by "), strings.Contains(err, "nothing was made"):
	default:
		c.history.add(c.id, p.from, put, answer{end: maybe})
	}
	if strings.Contains(err, "worker: validation: ") {
		c.restore(p.name, err)
	}
}

func (c *client) count(p *process, err string) {
	switch {
	case p.code == 125:
		c.void.Add(1)
	case p.code == 137:
		c.kills.Add(1)
	case p.code == 1:
		c.faults.Add(1)
	case strings.Contains(err, "panic") || p.code < 0 || p.code > 5:
		c.t.Errorf("seed %d: run %s ended with %d: %s", c.seed, p.name, p.code, err)
	}
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}
