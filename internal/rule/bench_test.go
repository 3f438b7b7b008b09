package rule

import (
	"testing"

	"faultlab/internal/op"
)

// hot are operations that no rule of hotRules fires on.
var hot = []op.Op{
	{Actor: 'A', Call: "write", Kind: op.Write, Path: "data/results.jsonl", Size: 100},
	{Actor: 'A', Call: "openat", Kind: op.Open, Also: op.Truncate, Path: "data/deep/below/champion.json", Size: -1},
	{Actor: 'A', Call: "rename", Kind: op.Rename, Path: "data/a.tmp", To: "data/a.json", Size: -1},
}

var hotRules = map[string]string{
	"literal":     "on write path=data/run.lock do fail EIO",
	"base":        "on write path=run.lock do fail EIO",
	"baseglob":    "on mutate path=*.lock do fail EIO",
	"branches":    "on mutate path=*.{lock,pid} do fail EIO",
	"counted":     "on write path=results.jsonl nth=2147483647 do fail EIO",
	"call":        "on pwrite64 path=*.jsonl do fail EIO",
	"absolute":    "on write path=/tree/data/x do fail EIO",
	"crossing":    "on mutate path=**/*.lock do fail EIO",
	"placeholder": "on mutate path=a.{1}.lock do fail EIO",
}

func BenchmarkDecide(b *testing.B) {
	for name, text := range hotRules {
		b.Run(name, func(b *testing.B) {
			m := NewMatcher("/tree", []Rule{mustParse(b, text)})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Decide(&hot[i%len(hot)])
			}
		})
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	for name, text := range hotRules {
		m := NewMatcher("/tree", []Rule{mustParse(t, text)})
		n := testing.AllocsPerRun(100, func() {
			for i := range hot {
				if act, r := m.Decide(&hot[i]); r != nil {
					t.Fatalf("%s fires: %s", name, act)
				}
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
