package fence

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rounds is how often the kill tests kill; more with FAULTLAB_LONG=1.
var rounds = 15

// A grantor that is killed anywhere never gives a token twice and never goes
// back: every token that was handed out is greater than all before.
func TestKilledGrantorNeverGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	rng, seed := seeded(t)
	var last uint64
	for round := range rounds {
		c := start(t, "grant", path)
		for range 1 + rng.IntN(5) {
			last = above(t, last, c.line(t), round, seed)
		}
		for _, l := range killSoon(c, rng) {
			last = above(t, last, l, round, seed)
		}
		// Its lease may still run; the virtual clock would keep it for ever.
		g := openTest(t, path, VirtualClock())
		must[time.Duration](t)(g.Advance(time.Hour))
		g.Close()
	}
}

func above(t *testing.T, last uint64, line string, round int, seed uint64) uint64 {
	t.Helper()
	tk, err := ParseToken(line)
	if err != nil || tk.N <= last {
		t.Fatalf("round %d, seed %d: %q after %d, %v", round, seed, line, last, err)
	}
	return tk.N
}

// A store that is killed anywhere holds a whole value, that of its mark, and
// the mark is not below any write that was reported as done.
func TestKilledStoreKeepsItsMark(t *testing.T) {
	s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
	rng, seed := seeded(t)
	var last uint64
	for round := range rounds {
		c := start(t, "put", s.Path, fmt.Sprint("FENCE_FIRST=", last+1))
		acks := []string{c.line(t)}
		for range rng.IntN(4) {
			acks = append(acks, c.line(t))
		}
		acks = append(acks, killSoon(c, rng)...)
		acked, _ := strconv.ParseUint(acks[len(acks)-1], 10, 64)
		v := must[Value](t)(s.Get("k"))
		if v.Token.N < acked || v.Token.N > acked+1 {
			t.Fatalf("round %d, seed %d: the mark is %d, done was %d", round, seed, v.Token.N, acked)
		}
		if want := strings.Repeat(fmt.Sprint(v.Token.N, " "), 2000); string(v.Data) != want {
			t.Fatalf("round %d, seed %d: not the value of token %d", round, seed, v.Token.N)
		}
		last = v.Token.N
	}
}

// One that is killed while it creates the file is in nobody's way.
func TestKilledCreator(t *testing.T) {
	rng, seed := seeded(t)
	for round := range rounds {
		s := Store{Path: filepath.Join(t.TempDir(), "s.db")}
		c := start(t, "put", s.Path, "FENCE_FIRST=1")
		killSoon(c, rng)
		if err := s.Put("k", tok(1_000_000), []byte("new")); err != nil {
			t.Fatalf("round %d, seed %d: %v", round, seed, err)
		}
		if left := must[[]string](t)(filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".*"))); len(left) > 0 {
			t.Fatalf("round %d, seed %d: left behind: %v", round, seed, left)
		}
	}
}

// killSoon kills at a point that nobody chose.
func killSoon(c *child, rng *rand.Rand) []string {
	<-time.After(time.Duration(rng.IntN(8000)) * time.Microsecond)
	return c.kill()
}

func seeded(t *testing.T) (*rand.Rand, uint64) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)), seed
}
