package fence

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What a grantor accepts.
const (
	MaxName  = 256            // bytes of a name or a holder
	MaxTTL   = 24 * time.Hour // of a lease
	MinTTL   = time.Millisecond
	MaxNames = 4096 // leases that run at once
)

// Lease is the right to write under a name until it expires.
type Lease struct {
	Name    string        // what is leased
	Holder  string        // who holds it, in the holder's own words: for messages only
	Token   Token         // goes with every write; the lease's identity
	TTL     time.Duration // how long a grant or a renewal lasts
	Expires time.Duration // reading of the grantor's clock at which it is over
	Left    time.Duration // until Expires, when the grantor answered
}

// leaseJSON is a lease as it is stored and sent: durations as Go writes them,
// "1m30s", so that a person with curl can read and write them.
type leaseJSON struct {
	Name    string   `json:"name"`
	Holder  string   `json:"holder"`
	Token   Token    `json:"token"`
	TTL     duration `json:"ttl"`
	Expires duration `json:"expires"`
	Left    duration `json:"left"`
}

// MarshalJSON gives durations as strings such as "1m30s".
func (l Lease) MarshalJSON() ([]byte, error) {
	return json.Marshal(leaseJSON{l.Name, l.Holder, l.Token, duration(l.TTL), duration(l.Expires), duration(l.Left)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Lease) UnmarshalJSON(b []byte) error {
	var j leaseJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*l = Lease{j.Name, j.Holder, j.Token, time.Duration(j.TTL), time.Duration(j.Expires), time.Duration(j.Left)}
	return nil
}

// duration is a time.Duration that JSON has as "1m30s".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(b []byte) error {
	got, err := time.ParseDuration(string(b))
	if err != nil {
		return &InvalidError{"duration", string(b), "a number with a unit, such as 10s or 1m30s"}
	}
	*d = duration(got)
	return nil
}

func checkName(what, s string) error {
	bad := strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) })
	if s == "" || len(s) > MaxName || bad || !utf8.ValidString(s) {
		if len(s) > MaxName {
			s = strings.ToValidUTF8(s[:32], "") + "…"
		}
		return &InvalidError{what, s, fmt.Sprintf("1 to %d bytes of printable text", MaxName)}
	}
	return nil
}

func checkTTL(ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return &InvalidError{"ttl", ttl.String(), fmt.Sprintf("a duration from %v to %v", MinTTL, MaxTTL)}
	}
	return nil
}
