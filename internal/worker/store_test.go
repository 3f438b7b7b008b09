//go:build unix

package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"faultlab/lock"
)

func newStore(t *testing.T) (s store, notices *[]string) {
	t.Helper()
	notices = new([]string)
	return store{dir: t.TempDir(), notice: func(format string, args ...any) {
		*notices = append(*notices, fmt.Sprintf(format, args...))
	}}, notices
}

func testRecord(run int) Record {
	return Record{Run: run, Candidate: Candidate{Name: fmt.Sprintf("ü%d", run), Page: 2, Ticket: 1}, Score: Score{run, 60}, Dataset: "sha256:0"}
}

// promoted makes n promotions.
func promoted(t *testing.T, s store, n int) {
	t.Helper()
	for run := 1; run <= n; run++ {
		st, err := s.recover()
		if err == nil {
			err = s.promote(testRecord(run), st.end(run-1))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPromoteKeepsEveryRecord(t *testing.T) {
	t.Parallel()
	s, notices := newStore(t)
	promoted(t, s, 3)
	st, err := s.read()
	if err != nil || len(st.records) != 3 || *st.champion != testRecord(3) || st.torn != 0 || len(*notices) != 0 {
		t.Errorf("%+v, %v, %q", st, err, *notices)
	}
}

// A run is killed at any point of its promotion, and the next one must end as if it had never begun.
func TestRecoverFromAKillAnywhere(t *testing.T) {
	t.Parallel()
	for before := range 3 {
		s, notices := newStore(t)
		promoted(t, s, before)
		start := tree(t, s.dir)
		old, _ := os.ReadFile(s.results())
		line, _ := json.Marshal(testRecord(before + 1))
		line = append(line, '\n')
		for k := 0; k <= len(line); k++ { // each time recover leads back to the start
			*notices = nil
			write(t, s.results(), string(old)+string(line[:k]))
			if k == len(line) { // the record is whole, the champion is on its way
				write(t, s.temp(), "{")
			}
			if _, err := s.recover(); err != nil {
				t.Fatalf("%d bytes: %v", k, err)
			}
			if got := tree(t, s.dir); got != start {
				t.Fatalf("%d bytes:\ngot  %s\nwant %s", k, got, start)
			}
			if changed := k > 0 || before == 0; (len(*notices) > 0) != changed {
				t.Fatalf("%d bytes: notices %q", k, *notices)
			}
		}
	}
}

func TestDamageIsReportedAndLeft(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name   string
		damage func(t *testing.T, s store)
		says   string
	}{
		{"champion empty", func(t *testing.T, s store) { write(t, s.champion(), "") }, "champion.json:1:1: nothing there: the champion is damaged"},
		{"champion cut", func(t *testing.T, s store) { write(t, s.champion(), "{\n \"run\": 2,") }, "champion.json:2:11: ends in the middle"},
		{"champion of nobody", func(t *testing.T, s store) { write(t, s.champion(), "{\"run\": 9}") }, "is not the champion that"},
		{"champion gone", func(t *testing.T, s store) { _ = os.Remove(s.champion()) }, "is not the champion that"},
		{"results gone", func(t *testing.T, s store) { _ = os.Remove(s.results()) }, "is not the champion that"},
		{"a bad line in the middle", func(t *testing.T, s store) {
			write(t, s.results(), strings.Replace(read(t, s.results()), `{"run":1,`, `{"run":1 `, 1))
		}, "results.jsonl:1:10 is damaged (want record 1"},
		{"a line is missing", func(t *testing.T, s store) {
			_, rest, _ := strings.Cut(read(t, s.results()), "\n")
			write(t, s.results(), rest)
		}, "results.jsonl:1:1 is damaged (want record 1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t)
			promoted(t, s, 2)
			row.damage(t, s)
			before := tree(t, s.dir)
			got := runWorker(t, s.dir, "candidate")
			want(t, got, statusFailed, row.says)
			if after := tree(t, s.dir); after != before {
				t.Errorf("it was %s\nand is %s", before, after)
			}
		})
	}
}

// One champion.json.tmp that cannot be made, then a rename that cannot be done: the record is taken back.
func TestPromoteRollsBack(t *testing.T) {
	t.Parallel()
	for name, obstacle := range map[string]func(s store) error{
		"temp": func(s store) error { return os.Mkdir(s.temp(), 0o755) },
		"rename": func(s store) error {
			return errors.Join(os.Remove(s.champion()), os.MkdirAll(filepath.Join(s.champion(), "x"), 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newStore(t)
			promoted(t, s, 2)
			size := int64(len(read(t, s.results())))
			if err := obstacle(s); err != nil {
				t.Fatal(err)
			}
			before := tree(t, s.dir)
			err := s.promote(testRecord(3), size)
			var pathErr *fs.PathError
			var linkErr *os.LinkError
			if !errors.As(err, &pathErr) && !errors.As(err, &linkErr) {
				t.Errorf("got %v", err)
			}
			if after := tree(t, s.dir); after != before {
				t.Errorf("it was %s\nand is %s", before, after)
			}
		})
	}
}

// A limit on the size of files stands for a disk that is full in the middle of the record.
func TestFullDiskInTheMiddleOfARecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := store{dir: dir, notice: func(string, ...any) {}}
	promoted(t, s, 8) // more bytes than the record of the lock, which must fit below the limit
	before := tree(t, dir)
	limit := len(read(t, s.results())) + 50
	cmd := worker(runArgs(t, dir, "candidate")...)
	cmd.Args = append([]string{"prlimit", fmt.Sprintf("--fsize=%d", limit), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/usr/bin/prlimit"
	if _, err := os.Stat(cmd.Path); err != nil {
		t.Skip("no prlimit")
	}
	got := ended(cmd)
	want(t, got, statusFailed, "write "+s.results()+": "+syscall.EFBIG.Error())
	if after := tree(t, dir); after != before {
		t.Errorf("it was %s\nand is %s", before, after)
	}
	want(t, runWorker(t, dir, "candidate"), statusOK, "")
}

func TestChampionKeepsItsMode(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	promoted(t, s, 1)
	if err := os.Chmod(s.champion(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.promote(testRecord(2), int64(len(read(t, s.results())))); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(s.champion()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestReleaseThatFailsSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := &run{store: store{dir: "/d"}}
	err := r.notReleased(syscall.EIO, strings.Repeat("0", 32))
	if !strings.Contains(err.Error(), "/d/run.lock is left behind; clear it with: ") {
		t.Error(err)
	}
	if err := r.notReleased(lock.ErrLost, ""); !errors.Is(err, lock.ErrLost) || strings.Contains(err.Error(), "clear it") {
		t.Error(err)
	}
}
