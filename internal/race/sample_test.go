package race

import (
	"slices"
	"testing"
)

// TestSamples finds beyond the bound what is not within it, the same with the same
// seed.
func TestSamples(t *testing.T) {
	found := func(seed uint64) (choices []string) {
		r := newTestRace(t, zero, Options{Samples: 8, Seed: seed, KeepGoing: true}, "counter.sh bad", "counter.sh bad")
		findings, err := r.Explore(t.Context())
		if s := r.Stats(); err != nil || s.Sampled != 8 || s.Schedules != 10 {
			t.Fatalf("%+v (%v), want 2 and 8 by chance", s, err)
		}
		for _, f := range findings {
			choices = append(choices, Choice(f.Steps))
		}
		return choices
	}
	once, again, other := found(7), found(7), found(8)
	if len(once) == 0 || !slices.Equal(once, again) {
		t.Errorf("with the same seed %q and %q, want some, and the same", once, again)
	}
	if slices.Equal(once, other) {
		t.Errorf("with another seed the same: %q", other)
	}
}

// TestNamesOfATimeAreOne has names that are new every second: what is shared would
// grow without end if two runs of the same second were all that is known of them.
func TestNamesOfATimeAreOne(t *testing.T) {
	r := newTestRace(t, "", Options{}, "second.sh", "second.sh")
	if err := r.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.serial.relearn(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, two := r.pattern.Key("d.1700000000/log"), r.pattern.Key("d.1700000001/log")
	if one != two {
		t.Errorf("%q and %q, want one name", one, two)
	}
	if !r.known[resource{entry, r.pattern.Key("d.1700000000")}] {
		t.Errorf("the folder is not known to be shared: %v", r.known)
	}
}

// What varies from second to second is known after relearning, and what varied under
// names that are not canonical any more is forgotten.
func TestRelearnedContentsVary(t *testing.T) {
	r := newTestRace(t, "", Options{}).twice("date +%s >now; echo here >>log")
	if err := r.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.serial.volatile["old.{1}"] = true
	if err := r.serial.relearn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := r.serial.volatile; !v["now"] || len(v) != 1 {
		t.Errorf("%v vary, want only now", v)
	}
}
