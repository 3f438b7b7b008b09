package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"faultlab/exit"
	"faultlab/internal/mutant"
	"faultlab/lock"
)

// run is one `worker run`.
type run struct {
	stdout, stderr io.Writer

	candidateFile, datasetFile, data string
	heldoutFile                      string
	notify, lockName                 string
	mutantName, endName              string

	design  mutant.Design
	end     ending
	store   store
	fenced  fenced
	record  Record // what is to be promoted; its Run is known only under the lock
	cases   Dataset
	heldout Dataset // without cases: none was given
}

// main reads and scores first: only then is there anything to lock for.
func (r *run) main() error {
	if err := r.check(); err != nil {
		return err
	}
	if err := r.score(); err != nil {
		return err
	}
	release, err := r.lock()
	if err != nil {
		return err
	}
	// A failing step returns at once: what is registered runs when main has returned.
	giveBack, err := r.takeLease()
	if err != nil {
		return err
	}
	if err := r.locked(); err != nil {
		return err
	}
	giveBack()
	if err := release(); err != nil {
		return flat(fmt.Errorf("%q is promoted, but the lock could not be given back", r.record.Candidate.Name), err)
	}
	if err := r.say("promoted %s %v", r.record.Candidate.Name, r.record.Score); err != nil {
		return fmt.Errorf("%w: %q is promoted all the same", err, r.record.Candidate.Name)
	}
	return nil
}

// check looks at everything that can be wrong with the call.
func (r *run) check() (err error) {
	if r.design, err = chooseDesign(r.lockName, r.mutantName); err != nil {
		return err
	}
	if r.end, err = endByName(r.endName); err != nil {
		return err
	}
	if err := r.fenced.check(); err != nil {
		return err
	}
	dir, err := dataDir(r.data)
	if err != nil {
		return err
	}
	r.store = store{dir: dir, notice: func(format string, args ...any) {
		fmt.Fprintf(r.stderr, "worker: "+format+"\n", args...)
	}}
	return nil
}

func chooseDesign(name, broken string) (mutant.Design, error) {
	switch {
	case broken != "":
		d, err := mutant.ByName(broken)
		if err != nil {
			err = usageError{err}
		}
		return d, err
	case name == mutant.Real.Name:
		return mutant.Real, nil
	case name == mutant.Flock.Name:
		return mutant.Flock, nil
	}
	return mutant.Design{}, usagef("unknown --lock %q: want %s or %s", name, mutant.Real.Name, mutant.Flock.Name)
}

// dataDir resolves the directory once: a command that is printed must work from any directory, and so must the release.
func dataDir(dir string) (string, error) {
	if dir == "" {
		return "", usagef("--data is empty: want a directory")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usagef("--data %s: the working directory is gone (%w): give an absolute path", dir, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usagef("--data: %w: make it first: %s", err, lock.Quote("mkdir", abs))
	case err != nil:
		return "", badPath("--data", err)
	case !info.IsDir():
		return "", usagef("--data: %s is not a directory", abs)
	}
	return abs, nil
}

func (r *run) score() (err error) {
	if r.record.Candidate, err = readCandidate(r.candidateFile); err != nil {
		return err
	}
	if r.cases, err = readDataset("dataset", r.datasetFile); err != nil {
		return err
	}
	r.record.Score = replay(r.record.Candidate, r.cases)
	r.record.Dataset = r.cases.Digest
	return r.readHeldout()
}

// readHeldout asks the guard before the file is opened: what lies in the repository may have been trained on.
func (r *run) readHeldout() (err error) {
	if r.heldoutFile == "" {
		return nil
	}
	if err := r.design.Outside(r.heldoutFile); err != nil {
		return usagef("--heldout: %w", err)
	}
	r.heldout, err = readDataset("heldout", r.heldoutFile)
	return err
}

// lock takes the lock and registers its release in one step, so that no signal can come between. The release it returns
// does its work once, whether it is called here or by an exit hook.
func (r *run) lock() (release func() error, err error) {
	var token string
	err = exit.Do(func() error {
		held, err := r.design.Acquire(r.store.lock(), lock.Options{Clear: r.store.clear})
		if err != nil {
			return err
		}
		token = held.Token()
		once := sync.OnceValue(func() error {
			if err := held.Release(); err != nil {
				return r.notReleased(err, token)
			}
			return r.say("released")
		})
		forget := r.design.Register(once)
		release = func() error {
			defer forget()
			return once()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return release, r.say("locked %s", token)
}

// notReleased says what the operator is left with.
func (r *run) notReleased(err error, token string) error {
	if errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("%w, and may have been inside at the same time: look at `worker status` before the next run", err)
	}
	return flat(err, fmt.Errorf("%s is left behind; clear it with: %s", r.store.lock(), r.store.clear(token)))
}

// clear is the command that an operator runs: absolute and quoted, so that it works from anywhere, as it is printed.
func (s store) clear(token string) string {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return lock.Quote(program, "unlock", "--data", s.dir, "--token", token)
}

// locked is what happens while the lock is held. Whatever fails, nothing half-done stays.
func (r *run) locked() error {
	if err := r.end.act(r); err != nil {
		return err
	}
	var st state
	err := exit.Do(func() (err error) {
		st, err = r.store.recover()
		return err
	})
	if err != nil {
		return err
	}
	if err := flat(gate(r.record, st.champion, r.cases), gateHeldout(r.record.Candidate, r.heldout)); err != nil {
		return err
	}
	peer, err := r.dial()
	if err != nil {
		return err
	}
	defer peer.Close()
	n := len(st.records)
	r.record.Run = n + 1
	if err := exit.Do(func() error { return r.promote(st.end(n)) }); err != nil {
		return err
	}
	return r.tell(peer)
}

const notifyLimit = 5 * time.Second

// dial reaches the one to be told before anything is changed: without it there is no promotion.
func (r *run) dial() (net.Conn, error) {
	if r.notify == "" {
		silent, other := net.Pipe()
		return silent, other.Close()
	}
	peer, err := net.DialTimeout("unix", r.notify, notifyLimit)
	if err != nil {
		return nil, fmt.Errorf("notify: %w: nothing was changed; start what listens there, or leave out --notify", err)
	}
	return peer, nil
}

// tell sends the record, one line of JSON.
func (r *run) tell(peer net.Conn) error {
	if r.notify == "" {
		return nil
	}
	_ = peer.SetDeadline(time.Now().Add(notifyLimit))
	if err := json.NewEncoder(peer).Encode(r.record); err != nil {
		return fmt.Errorf("notify: %w: %q is promoted all the same", err, r.record.Candidate.Name)
	}
	return nil
}

// say writes one line in one call. Nobody can go by a line that was not written, so that is a failure.
func (r *run) say(format string, args ...any) error {
	_, err := fmt.Fprintf(r.stdout, format+"\n", args...)
	return err
}
