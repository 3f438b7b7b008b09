//go:build linux

package shim_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"faultlab/internal/op"
	"faultlab/internal/record"
	"faultlab/internal/shim"
)

// A write of 256 bytes, trapped and let go on, and performed and recorded.
func BenchmarkWrite(b *testing.B) {
	for _, name := range []string{"trapped", "recorded"} {
		b.Run(name, func(b *testing.B) {
			const writes = 20000
			for b.Loop() {
				written(b, name == "recorded", writes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/writes, "ns/write")
		})
	}
}

func written(b *testing.B, recording bool, writes int) {
	b.Helper()
	dir, tmp := b.TempDir(), b.TempDir()
	out, err := os.Create(filepath.Join(tmp, "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	cfg := shim.Config{Tree: dir, Actor: 'A', Calls: slices.Concat(op.TreeCalls(), shim.RecordCalls()), OpenWrites: true}
	if recording {
		cfg.Recording = &shim.Recording{Record: new(record.Record), Tmp: tmp}
	}
	run, err := shim.Start(shim.Command{Path: "/bin/dd", Args: []string{"dd", "if=/dev/zero", "of=f", "bs=256", "count=20000", "status=none"},
		Dir: dir, Env: os.Environ(), Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr}, cfg)
	if err != nil {
		b.Skip(err)
	}
	if _, err := run.Wait(shim.Limits{Timeout: time.Minute, Grace: time.Second}); err != nil {
		b.Fatal(err)
	}
}
