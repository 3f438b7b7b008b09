package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDatasetErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	const one = `{"id":"a","latency_ms":1,"errors":2,"queue":3,"want":"page"}` + "\n"
	rows := []struct{ in, says string }{
		{one, ""},
		{strings.TrimSuffix(one, "\n"), ""},
		{strings.ReplaceAll(one, "\n", "\r\n"), ""},
		{one + "\n", ":2:1: nothing there"},
		{one + "{", ":2:2: ends in the middle"},
		{one + "[]\n", ":2:1: "},
		{one + "x\n", ":2:1: invalid character 'x' looking for beginning of value"},
		{one + one, `:2:1: the id "a" occurs twice`},
		{one[:len(one)-1] + " x\n", ":1:62: something follows the value"},
		{strings.Replace(one, `"a"`, `""`, 1), ":1:1: the case has no id"},
		{strings.Replace(one, "page", "pages", 1), `:1:1: want is "pages"`},
		{strings.Replace(one, `"queue"`, `"cue"`, 1), `:1:37: unknown field "cue"`},
		{strings.Replace(one, `:2,`, `:2.5,`, 1), ":1:35: errors is a number 2.5"},
		{strings.Replace(one, `:2,`, `:-2,`, 1), ":1:1: -2 is not between 0 and 1000000"},
		{strings.Replace(one, `:2,`, `:"x:y",`, 1), ":1:"},
		{strings.Replace(one, `:2,`, `:1000001,`, 1), ":1:1: 1000001 is not between 0 and 1000000"},
		{"\x00\n", ":1:1: invalid character"},
	}
	file := filepath.Join(t.TempDir(), "dataset.jsonl")
	for _, row := range rows {
		if err := os.WriteFile(file, []byte(row.in), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readDataset("dataset", file)
		if row.says == "" {
			if err != nil {
				t.Errorf("%q: %v", row.in, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), file+row.says) || !strings.Contains(err.Error(), "; want ") {
			t.Errorf("%q:\n%v\nwant %s", row.in, err, row.says)
		}
	}
}

func TestCandidateErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	rows := []struct{ in, says string }{
		{"{\n\"name\": \"a\",\n\"page\": 2,\n\"ticket\": 1}", ""},
		{"", ":1:1: nothing there"},
		{"{\n\"nam\": \"a\"}", `:2:1: unknown field "nam"`},
		{"{\n  \"name\": 7}", ":2:10: name is a number"},
		{"{}", ":1:1: the candidate has no name"},
		{`{"name":"a","page":1,"ticket":1}`, ":1:1: want 0 < ticket < page"},
		{`{"name":"a","page":2,"ticket":1,"weights":{"errors":-1}}`, ":1:1: -1 is not between"},
	}
	file := filepath.Join(t.TempDir(), "candidate.json")
	for _, row := range rows {
		if err := os.WriteFile(file, []byte(row.in), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readCandidate(file)
		if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.HasPrefix(err.Error(), file+row.says)) {
			t.Errorf("%q:\n%v\nwant %s", row.in, err, row.says)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"id":"a","want":"page"}`))
	f.Add([]byte(`{"id":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Case
		i, err := decode(b, &c)
		if err != nil && (i < 0 || i > len(b)) {
			t.Errorf("offset %d of %d", i, len(b))
		}
		_ = at("f", b, i).String()
	})
}

func TestGate(t *testing.T) {
	t.Parallel()
	d := Dataset{Digest: "now", Cases: []Case{{ID: "a", Want: "page", Errors: 5}, {ID: "b", Want: "ignore"}}}
	always := Candidate{Name: "always", Page: 1, Ticket: 0}                            // pages for everything: 1 of 2
	right := Candidate{Name: "right", Weights: Weights{Errors: 1}, Page: 2, Ticket: 1} // 2 of 2
	score := func(c Candidate) Record { return Record{Candidate: c, Score: replay(c, d), Dataset: d.Digest} }
	other := func(c Candidate, correct int) *Record {
		return &Record{Candidate: c, Score: Score{correct, 100}, Dataset: "another"}
	}
	same := score(right)
	rows := []struct {
		name     string
		r        Record
		champion *Record
		says     string
	}{
		{"first", score(right), nil, ""},
		{"below the floor", score(always), nil, "below the floor"},
		{"the same again", score(right), &same, "does not beat"},
		{"a champion of another dataset is replayed: worse here", score(right), other(always, 99), ""},
		{"a champion of another dataset is replayed: as good here", score(right), other(right, 1), "does not beat"},
	}
	for _, row := range rows {
		err := gate(row.r, row.champion, d)
		if row.says == "" && err != nil || row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}
