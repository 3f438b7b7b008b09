package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// Record is one promotion: a line of results.jsonl. champion.json is the last of them, indented. It holds neither times
// nor tokens, so that two runs on the same input leave the same bytes.
type Record struct {
	Run       int       `json:"run"` // counts from 1
	Candidate Candidate `json:"candidate"`
	Score
	Dataset string `json:"dataset"` // digest
}

// store is the data directory. Every method that changes it wants the lock to be held.
type store struct {
	dir string // absolute
	// notice tells of a repair.
	notice func(format string, args ...any)
}

func (s store) lock() string     { return filepath.Join(s.dir, "run.lock") }
func (s store) results() string  { return filepath.Join(s.dir, "results.jsonl") }
func (s store) champion() string { return filepath.Join(s.dir, "champion.json") }
func (s store) temp() string     { return filepath.Join(s.dir, "champion.json.tmp") }

// state is what the directory holds.
type state struct {
	records  []Record
	champion *Record // nil: none yet
	torn     int     // bytes of a record without its end, at the end of results.jsonl
	empty    bool    // results.jsonl is there, and nothing is in it
	ends     []int64 // where each record ends in the file, in bytes
}

// read looks and changes nothing.
func (s store) read() (state, error) {
	var st state
	content, err := readOptional(s.results())
	if err != nil {
		return st, err
	}
	complete := content[:bytes.LastIndexByte(content, '\n')+1]
	st.torn, st.empty = len(content)-len(complete), content != nil && len(content) == 0
	for start := 0; start < len(complete); {
		line, _, _ := bytes.Cut(complete[start:], []byte{'\n'})
		var r Record
		if i, err := decode(line, &r); err != nil || r.Run != len(st.records)+1 {
			return st, fmt.Errorf("validation: %s is damaged (want record %d, one JSON object a line): restore it from a copy",
				at(s.results(), content, start+i), len(st.records)+1)
		}
		start += len(line) + 1
		st.records, st.ends = append(st.records, r), append(st.ends, int64(start))
	}
	st.champion, err = s.readChampion()
	return st, err
}

func (s store) readChampion() (*Record, error) {
	content, err := readOptional(s.champion())
	if err != nil || content == nil {
		return nil, err
	}
	var r Record
	if i, err := decode(content, &r); err != nil {
		return nil, fmt.Errorf("validation: %s: %w: the champion is damaged: restore it from a copy, or from the last line of %s",
			at(s.champion(), content, i), err, s.results())
	}
	return &r, nil
}

// readOptional is nil for a file that is not there. Every other failure is one: unreadable is not missing.
func readOptional(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && content == nil {
		content = []byte{}
	}
	return content, err
}

// recover brings the directory to where a run may begin: it takes back what a run that was killed had begun. A promotion
// is the record and then the champion, so a record without its champion is one that never succeeded.
func (s store) recover() (state, error) {
	st, err := s.read()
	if err != nil {
		return st, err
	}
	if err := s.removeTemp(); err != nil {
		return st, err
	}
	if st.torn > 0 || st.empty {
		if err := s.cut(st.end(len(st.records))); err != nil {
			return st, err
		}
		s.notice("%s: took back %d bytes of a record that a killed run had not finished", s.results(), st.torn)
	}
	return s.settle(st)
}

func (s store) removeTemp() error {
	_, err := os.Lstat(s.temp())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(s.temp())
	}
	if err == nil {
		s.notice("%s: removed, a killed run had left it", s.temp())
	}
	return err
}

// end is the size of results.jsonl after n records.
func (st state) end(n int) int64 {
	if n == 0 {
		return 0
	}
	return st.ends[n-1]
}

// settle makes the last record and the champion agree.
func (s store) settle(st state) (state, error) {
	n := len(st.records)
	switch {
	case st.isChampion(n):
		return st, nil
	case n > 0 && st.isChampion(n-1):
		if err := s.cut(st.end(n - 1)); err != nil {
			return st, err
		}
		s.notice("%s: took back record %d, a killed run had not made it the champion", s.results(), n)
		st.records, st.ends = st.records[:n-1], st.ends[:n-1]
		return st, nil
	}
	return st, fmt.Errorf("validation: %s is not the champion that %s says: restore both from the same copy",
		s.champion(), s.results())
}

// isChampion tells whether the champion is the one after n records.
func (st state) isChampion(n int) bool {
	if n == 0 || st.champion == nil {
		return n == 0 && st.champion == nil
	}
	return *st.champion == st.records[n-1]
}

// promote appends the record and replaces the champion. If it fails before the champion was replaced, everything is as
// it was, or the error says what is not.
func (s store) promote(r Record, size int64) error {
	dir, err := os.Open(s.dir) // now, when to fail costs nothing: after the rename there must be little left to fail
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := s.appendRecord(r, size, dir); err != nil {
		return err
	}
	if err := s.replaceChampion(r); err != nil {
		return flat(err, s.cut(size))
	}
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("%q is promoted, but might not survive a power cut: %w: check the disk", r.Candidate.Name, err)
	}
	return nil
}

// appendRecord makes the record durable, or takes back what there is of it: the next record must not be glued to a
// torn one. size is what the file had; 0 if it is not there.
func (s store) appendRecord(r Record, size int64, dir *os.File) error {
	f, err := os.OpenFile(s.results(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(mustJSON(json.Marshal(r)), '\n'))
	if err == nil {
		err = f.Sync()
	}
	err = flat(err, f.Close())
	if err == nil && size == 0 {
		err = dir.Sync() // before the champion: a champion without its record could not be explained after a power cut
	}
	if err != nil {
		err = flat(err, s.cut(size))
	}
	return err
}

// cut makes results.jsonl size bytes long again. With no record left there is no file, as before the first one.
func (s store) cut(size int64) error {
	if size == 0 {
		return os.Remove(s.results())
	}
	f, err := os.OpenFile(s.results(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil {
		err = f.Sync()
	}
	return flat(err, f.Close())
}

// replaceChampion puts the new champion in place by rename. Readers see the old one or the new one, whole. If it fails,
// the old one is still there.
func (s store) replaceChampion(r Record) error {
	if err := s.writeTemp(append(mustJSON(json.MarshalIndent(r, "", "  ")), '\n')); err != nil {
		return err
	}
	if err := os.Rename(s.temp(), s.champion()); err != nil {
		return flat(err, os.Remove(s.temp()))
	}
	return nil
}

// writeTemp makes the file that is to become the champion, durable, or leaves none.
func (s store) writeTemp(content []byte) error {
	f, err := os.OpenFile(s.temp(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := flat(s.fill(f, content), f.Close()); err != nil {
		return flat(err, os.Remove(s.temp()))
	}
	return nil
}

func (s store) fill(f *os.File, content []byte) error {
	old, err := os.Stat(s.champion())
	if err == nil {
		err = f.Chmod(old.Mode().Perm()) // who may read the champion is not ours to change
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync() // before the rename, or a power cut could leave the new name with nothing behind it
}

func mustJSON(b []byte, err error) []byte {
	if err != nil {
		panic(err) // strings and whole numbers: always marshals
	}
	return b
}

// flat collects errors that are independent of each other. One is itself, none is nil.
func flat(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	all := multierror.Append(nil, errs...)
	all.ErrorFormat = func(errs []error) string {
		lines := make([]string, len(errs))
		for i, err := range errs {
			lines[i] = err.Error()
		}
		return strings.Join(lines, "; ")
	}
	return all
}
