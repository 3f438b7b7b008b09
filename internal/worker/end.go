package worker

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"faultlab/exit"
)

// An ending is a way for the process to end while it holds the lock: a row of the exit matrix.
type ending struct {
	name, about string
	act         func(*run) error
}

var errOnPurpose = errors.New("failed on purpose (--end)")

var endings = []ending{
	{"return", "go on and return from main", func(*run) error { return nil }},
	{"error", "a step fails", func(*run) error { return errOnPurpose }},
	{"validation", "what is in the data directory is found invalid", endValidation},
	{"dependency", "a socket that is needed cannot be reached", endDependency},
	{"exit-now", "exit.Now(1)", func(*run) error { exit.Now(1); return nil }},
	{"os-exit", "os.Exit(1)", func(*run) error { os.Exit(1); return nil }},
	{"log-fatal", "log.Fatal", func(*run) error { log.Fatal("worker: ", errOnPurpose); return nil }},
	{"panic", "panic in main", func(*run) error { panic(errOnPurpose) }},
	{"panic-goroutine", "panic in a goroutine started by go", func(*run) error { go panic(errOnPurpose); select {} }},
	{"panic-exit-go", "panic in a goroutine started by exit.Go", func(*run) error { exit.Go(func() { panic(errOnPurpose) }); select {} }},
	{"goexit", "runtime.Goexit in main", func(*run) error { runtime.Goexit(); return nil }},
	{"throw", "a fatal error of the runtime, which nothing can recover", func(*run) error { new(sync.Mutex).Unlock(); return nil }},
	{"wait", "say ready, and wait for a signal", endWait},
}

// endValidation fails as a damaged champion does, without damaging anything.
func endValidation(r *run) error {
	return fmt.Errorf("validation: %s: %w", r.store.champion(), errOnPurpose)
}

// endDependency dials a socket that is not there, as --notify would.
func endDependency(r *run) error {
	r.notify = filepath.Join(r.store.dir, "nobody.sock")
	_, err := r.dial()
	return err
}

func endWait(r *run) error {
	if err := r.say("ready"); err != nil {
		return err
	}
	select {}
}

func endByName(name string) (ending, error) {
	names := make([]string, len(endings))
	for i, e := range endings {
		if e.name == name {
			return e, nil
		}
		names[i] = e.name
	}
	return ending{}, usagef("unknown --end %q: want one of %s", name, strings.Join(names, ", "))
}

func endHelp() string {
	lines := []string{"Ways to end (--end), each once the lock is held and nothing else is changed:"}
	for _, e := range endings {
		lines = append(lines, fmt.Sprintf("  %-16s %s", e.name, e.about))
	}
	return strings.Join(lines, "\n")
}
