package lock

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	recordVersion = 1
	maxRecord     = 16 << 10 // bytes; more is not a record of ours, whatever it is
	maxCommand    = 1 << 10  // bytes of the command line that are kept
)

// The two designs, as they stand in Record.Design.
const (
	designCreate = "create"
	designFlock  = "flock"
)

// loaded stands for the start of the process in a form that a person can read. StartTicks is what is compared.
var loaded = time.Now()

// Record is what a lock file says of its holder: one line of JSON, ended by a newline. A file that does not end in a
// newline is half-made.
type Record struct {
	Version    int       `json:"version"`
	Design     string    `json:"design"`                // "create" or "flock"
	Token      string    `json:"token"`                 // 32 hexadecimal digits, random: names this one acquisition
	PID        int       `json:"pid"`                   // as the holder saw it
	Host       string    `json:"host"`                  // its host name
	Boot       string    `json:"boot,omitempty"`        // identifies the running kernel; empty: not known
	PIDSpace   string    `json:"pid_space,omitempty"`   // Linux: the pid namespace ("pid:[4026531836]")
	StartTicks uint64    `json:"start_ticks,omitempty"` // Linux: start of the process, clock ticks after boot; 0: not known
	Started    time.Time `json:"started"`               // the same for a reader, to the second
	Acquired   time.Time `json:"acquired"`
	Command    string    `json:"command"` // the command line, quoted for a shell, at most 1 KiB
}

func newRecord(design string, o Options) Record {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	command := o.Command
	if command == "" {
		command = Quote(os.Args...)
	}
	return Record{
		Version: recordVersion, Design: design, Token: newToken(),
		PID: os.Getpid(), Host: host, Boot: bootID(), PIDSpace: pidSpace(), StartTicks: startTicks(os.Getpid()),
		Started: loaded.UTC().Truncate(time.Second), Acquired: time.Now().UTC().Truncate(time.Millisecond),
		Command: clip(command, maxCommand),
	}
}

func newToken() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: the runtime ends the process instead
	return hex.EncodeToString(b[:])
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:n]), nil)) + "…"
}

func (r Record) line() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings, numbers and times of this century: always marshals
	}
	return append(b, '\n')
}

// halfMade says how much there is of a record that is being written, or that its writer died over.
type halfMade string

func (h halfMade) Error() string { return string(h) }

// parseRecord reads what a lock file holds. The error says what is wrong with it, for an operator.
func parseRecord(b []byte) (Record, error) {
	var r Record
	switch {
	case len(b) == 0:
		return r, halfMade("empty")
	case len(b) > maxRecord:
		return r, fmt.Errorf("longer than %d bytes: not a lock record", maxRecord)
	case b[len(b)-1] != '\n':
		return r, halfMade(fmt.Sprintf("%d bytes of a record, without its end", len(b)))
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, errors.New("not a lock record")
	}
	return r, r.valid()
}

func (r Record) valid() error {
	switch {
	case r.Version > recordVersion:
		return fmt.Errorf("written by a newer version (%d) of this program", r.Version)
	case r.Version != recordVersion, !isRecordToken(r.Token), r.PID <= 0:
		return errors.New("not a lock record")
	}
	return nil
}

func isRecordToken(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, c := range s {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return true
}
