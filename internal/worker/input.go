package worker

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const maxInput = 64 << 20 // bytes of a candidate or dataset

// Candidate is a policy that asks to become champion. It sorts a case by the weighted sum of what was measured: from Page
// on somebody is woken, from Ticket on it is written down, below it is ignored. All whole numbers, so that every machine
// computes the same.
type Candidate struct {
	Name    string  `json:"name"`
	Weights Weights `json:"weights"`
	Page    int64   `json:"page"`
	Ticket  int64   `json:"ticket"`
}

// Weights are what one unit of each measurement counts.
type Weights struct {
	LatencyMS int64 `json:"latency_ms"`
	Errors    int64 `json:"errors"`
	Queue     int64 `json:"queue"`
}

// Case is one line of a dataset: what was measured, and what would have been right.
type Case struct {
	ID        string `json:"id"`
	LatencyMS int64  `json:"latency_ms"`
	Errors    int64  `json:"errors"`
	Queue     int64  `json:"queue"`
	Want      string `json:"want"` // "page", "ticket" or "ignore"
}

// Dataset is the cases in the order of the file, and the file's digest ("sha256:" and 64 hexadecimal digits).
type Dataset struct {
	Digest string
	Cases  []Case
}

const (
	candidateForm = `{"name":"steady","weights":{"latency_ms":1,"errors":20,"queue":5},"page":900,"ticket":400}`
	caseForm      = `{"id":"c01","latency_ms":820,"errors":14,"queue":3,"want":"page"}, where want is page, ticket or ignore`
)

// usageError is what the caller can put right by calling otherwise: exit status 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// badPath is the error of a path that was given. If another one would do better it is usage, otherwise the machine's.
func badPath(what string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return usagef("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// position is a place in an input file, for messages.
type position struct {
	file      string
	line, col int // from 1; col counts bytes
}

func (p position) String() string { return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.col) }

// at is the position of byte offset i of content.
func at(file string, content []byte, i int) position {
	before := content[:min(max(i, 0), len(content))]
	return position{file, bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
}

func readInput(what, file string) ([]byte, error) {
	if file == "" {
		return nil, usagef("--%s is empty: want a file", what)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, badPath(what, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usagef("%s: %s is a directory: want a file", what, file)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(content) > maxInput {
		return nil, usagef("%s: %s is larger than %d MiB", what, file, maxInput>>20)
	}
	return content, nil
}

func readCandidate(file string) (Candidate, error) {
	var c Candidate
	content, err := readInput("candidate", file)
	if err != nil {
		return c, err
	}
	if i, err := decode(content, &c); err != nil {
		return c, usagef("%s: %w; want %s", at(file, content, i), err, candidateForm)
	}
	if err := c.valid(); err != nil {
		return c, usagef("%s: %w; want %s", at(file, content, 0), err, candidateForm)
	}
	return c, nil
}

func (c Candidate) valid() error {
	switch {
	case c.Name == "":
		return errors.New("the candidate has no name")
	case c.Ticket <= 0 || c.Page <= c.Ticket:
		return errors.New("want 0 < ticket < page")
	}
	return inRange(c.Weights.LatencyMS, c.Weights.Errors, c.Weights.Queue, c.Page)
}

func readDataset(what, file string) (Dataset, error) {
	content, err := readInput(what, file)
	if err != nil {
		return Dataset{}, err
	}
	digest := sha256.Sum256(content)
	d := Dataset{Digest: "sha256:" + hex.EncodeToString(digest[:])}
	seen := map[string]bool{}
	for start := 0; start < len(content); {
		line, _, _ := bytes.Cut(content[start:], []byte{'\n'})
		var c Case
		i, err := decode(line, &c)
		if err == nil {
			i, err = 0, c.valid(seen)
		}
		if err != nil {
			return Dataset{}, usagef("%s: %w; want %s", at(file, content, start+i), err, caseForm)
		}
		d.Cases = append(d.Cases, c)
		start += len(line) + 1
	}
	if len(d.Cases) == 0 {
		return d, usagef("%s: the dataset is empty; want a case a line: %s", file, caseForm)
	}
	return d, nil
}

func (c Case) valid(seen map[string]bool) error {
	switch {
	case c.ID == "":
		return errors.New("the case has no id")
	case seen[c.ID]:
		return fmt.Errorf("the id %q occurs twice", c.ID)
	case c.Want != "page" && c.Want != "ticket" && c.Want != "ignore":
		return fmt.Errorf("want is %q", c.Want)
	}
	seen[c.ID] = true
	return inRange(c.LatencyMS, c.Errors, c.Queue)
}

func inRange(numbers ...int64) error {
	for _, n := range numbers {
		if n < 0 || n > 1_000_000 {
			return fmt.Errorf("%d is not between 0 and 1000000", n)
		}
	}
	return nil
}

// decode reads exactly one JSON value with known fields only. With an error it says at which byte of b.
func decode(b []byte, into any) (offset int, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case err == nil:
		return trailing(d, b)
	case errors.As(err, &syntax):
		return int(syntax.Offset) - 1, errors.New(syntax.Error())
	case errors.As(err, &mistyped):
		// The decoder says where the value ends; a reader wants to see where it begins.
		return bytes.LastIndexByte(b[:mistyped.Offset], ':') + 1, fmt.Errorf("%s is a %s", mistyped.Field, mistyped.Value)
	case errors.Is(err, io.EOF):
		return 0, errors.New("nothing there")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return len(b), errors.New("ends in the middle")
	}
	said := strings.TrimPrefix(err.Error(), "json: ")
	if field, ok := strings.CutPrefix(said, "unknown field "); ok {
		offset = max(bytes.Index(b, []byte(field)), 0)
	}
	return offset, errors.New(said)
}

func trailing(d *json.Decoder, b []byte) (offset int, err error) {
	end := int(d.InputOffset())
	rest := bytes.TrimLeft(b[end:], " \t\r\n")
	if len(rest) == 0 {
		return 0, nil
	}
	return len(b) - len(rest), errors.New("something follows the value")
}
