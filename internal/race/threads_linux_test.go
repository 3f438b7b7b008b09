package race

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"faultlab/internal/shim"
	"faultlab/internal/trial"
)

// threadsWord makes this test's own program the one below.
const threadsWord = "four-threads"

// fourThreads does the same on four threads at once, each after a moment of its own:
// who comes first is another one each time.
func fourThreads() int {
	var all sync.WaitGroup
	for i := range 4 {
		locked := make(chan bool)
		all.Go(func() {
			runtime.LockOSThread()
			close(locked)
			for range 2 {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				f, err := os.OpenFile("log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
				if err != nil {
					panic(err)
				}
				_, _ = f.WriteString(strings.Repeat(string(rune('a'+i)), 1+i) + "\n")
				_ = f.Close()
			}
			if err := os.WriteFile(fmt.Sprint("done.", i), nil, 0o644); err != nil {
				panic(err)
			}
		})
		<-locked
	}
	all.Wait()
	return 0
}

// TestThreadsGoInOneOrder plays one order of an actor with four threads again and
// again: what is let go is chosen by what it is, and never by who came first.
func TestThreadsGoInOneOrder(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner, err := trial.New(t.Context(), trial.Spec{Timeout: time.Minute, Jobs: 1})
	if shim.IsVoid(err) && os.Getenv("FAULTLAB_REQUIRE") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := New(runner, []trial.Program{
		{Path: self, Args: []string{"threads", threadsWord}},
		{Path: "/bin/sh", Args: []string{"sh", "-c", "for i in 0 1 2 3; do [ -e done.$i ]; done; echo B >>log"}},
	}, Options{Full: true, Jobs: 1})
	if err := r.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	var first []string
	for i := range 10 {
		o := r.once(t.Context(), &script{switches: []change{{from: 'A', before: "open path=./log nth=3", to: 'B'}}})
		if o.err != nil || o.play.over != "" {
			t.Fatalf("play %d: %v, %s", i, o.err, o.play.over)
		}
		var steps []string
		for _, s := range o.play.lanes {
			steps = append(steps, fmt.Sprintf("%c %v %s %d", s.Actor, s.Op.Kind, s.Op.Path, s.Op.Size))
		}
		if first == nil {
			first = steps
		}
		if !slices.Equal(steps, first) {
			t.Fatalf("play %d:\n%s\nwant\n%s", i, strings.Join(steps, "\n"), strings.Join(first, "\n"))
		}
	}
	if !slices.Contains(first, "A open log -1") || len(first) < 20 {
		t.Errorf("these are no threads of which several wait:\n%s", strings.Join(first, "\n"))
	}
}
