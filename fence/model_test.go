package fence

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// model is a grantor in a dozen lines: what runs, and the last number.
type model struct {
	g       *Grantor
	path    string
	now     time.Duration
	last    uint64
	running map[string]Lease // by name, expired ones too
	ever    []Lease          // every lease that was granted
}

// TestGrantorIsTheModel drives a grantor and the model with the same random
// requests, restarts among them.
func TestGrantorIsTheModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		sub, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(sub)
		m := &model{path: filepath.Join(sub, "leases.db"), running: map[string]Lease{}}
		m.open(t)
		defer func() { m.g.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"grant":   m.grant,
			"renew":   m.renew,
			"release": m.release,
			"advance": m.advance,
			"restart": func(t *rapid.T) {
				if err := m.g.Close(); err != nil {
					t.Fatal(err)
				}
				m.open(t)
			},
			"": m.same,
		})
	})
}

var (
	names = rapid.SampledFrom([]string{"a", "b", "c"})
	times = rapid.SampledFrom([]time.Duration{1 * time.Second, 2 * time.Second, 5 * time.Second})
)

func (m *model) open(t *rapid.T) {
	g, err := OpenGrantor(m.path, VirtualClock())
	if err != nil {
		t.Fatal(err)
	}
	m.g = g
}

func (m *model) runs(name string) bool { return m.running[name].Expires > m.now }

func (m *model) grant(t *rapid.T) {
	name, ttl := names.Draw(t, "name"), times.Draw(t, "ttl")
	l, err := m.g.Grant(name, "h", ttl)
	var held *HeldError
	if m.runs(name) {
		if !errors.As(err, &held) || held.Lease.Token != m.running[name].Token {
			t.Fatalf("got %v, %v; the model has %v", l, err, m.running[name])
		}
		return
	}
	m.last++
	if err != nil || l.Token.N != m.last || l.Expires != m.now+ttl {
		t.Fatalf("got %v, %v; the model has token %d until %v", l, err, m.last, m.now+ttl)
	}
	m.running[name] = l
	m.ever = append(m.ever, l)
}

// one picks any lease that was ever granted.
func (m *model) one(t *rapid.T) Lease {
	if len(m.ever) == 0 {
		t.Skip("none was granted yet")
	}
	return m.ever[rapid.IntRange(0, len(m.ever)-1).Draw(t, "lease")]
}

func (m *model) renew(t *rapid.T) {
	l, ttl := m.one(t), times.Draw(t, "ttl")
	got, err := m.g.Renew(l.Name, l.Token, ttl)
	ok := m.runs(l.Name) && m.running[l.Name].Token == l.Token
	if ok != (err == nil) || ok && got.Expires != m.now+ttl {
		t.Fatalf("got %v, %v; the model says %v", got, err, ok)
	}
	if ok {
		m.running[l.Name] = got
	}
}

func (m *model) release(t *rapid.T) {
	l := m.one(t)
	err := m.g.Release(l.Name, l.Token)
	ok := m.running[l.Name].Token == l.Token
	// One that expired may have been swept, which the model does not do.
	if ok != (err == nil) && m.runs(l.Name) {
		t.Fatalf("got %v; the model says %v", err, ok)
	}
	if ok {
		delete(m.running, l.Name)
	}
}

func (m *model) advance(t *rapid.T) {
	m.now += times.Draw(t, "by")
	if got, err := m.g.Advance(m.now - m.clock(t)); err != nil || got != m.now {
		t.Fatalf("got %v, %v; the model reads %v", got, err, m.now)
	}
}

func (m *model) clock(t *rapid.T) time.Duration {
	_, now, err := m.g.List()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// same compares all that can be seen, after every step.
func (m *model) same(t *rapid.T) {
	got, now, err := m.g.List()
	if err != nil || now != m.now {
		t.Fatalf("reads %v, %v; the model %v", now, err, m.now)
	}
	n := 0
	for name := range m.running {
		if m.runs(name) {
			n++
		}
	}
	for _, l := range got {
		if want := m.running[l.Name]; l.Token != want.Token || l.Expires != want.Expires || l.Left != l.Expires-now {
			t.Fatalf("runs %+v, the model has %+v", l, want)
		}
	}
	if len(got) != n {
		t.Fatalf("%d run, in the model %d", len(got), n)
	}
}
