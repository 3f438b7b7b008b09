package lock

import (
	"strings"
	"testing"
	"time"
)

// TestMessages is what operators read. Each is one line and ends in the command, where there is one.
func TestMessages(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 26, 10, 0, 0, 0, time.UTC)
	r := Record{PID: 42, Host: "box", Started: at, Acquired: at.Add(time.Minute), Command: "worker run"}
	const who = "/d/run.lock is held by pid 42 on host box (started 2026-07-26T10:00:00Z, locked 2026-07-26T10:01:00Z, command worker run), "
	rows := []struct {
		state  State
		detail string
		record Record
		clear  string
		want   string
	}{
		{Alive, "", r, "CMD", who + "which is alive: wait until it ends, or, if it must lose the lock, clear it with: CMD"},
		{Gone, "", r, "CMD", who + "which is gone: clear it with: CMD"},
		{Gone, "this machine has been restarted since", r, "CMD", who + "which is gone (this machine has been restarted since): clear it with: CMD"},
		{Zombie, "", r, "CMD", who + "which has ended and is a zombie: clear it with: CMD"},
		{Reused, "of sshd", r, "CMD", who + "which is gone, its pid now belongs to another process (of sshd): clear it with: CMD"},
		{Elsewhere, "", r, "CMD", who + "which cannot be seen from here: if you know that it is gone, clear it with: CMD"},
		{Unknown, "why", r, "CMD", who + "of which nothing is known (why): if you know that it is gone, clear it with: CMD"},
		{HalfMade, "empty", Record{}, "CMD", "/d/run.lock is half-made (empty): it is being written at this moment, or its writer died: run again, and if it still says so, clear it with: CMD"},
		{Unreadable, "not a lock record", Record{}, "CMD", "/d/run.lock is unreadable (not a lock record): clear it with: CMD"},
		{Unreadable, "a symbolic link", Record{}, "", "/d/run.lock is unreadable (a symbolic link): it is no lock, move it out of the way"},
		{Free, "", Record{}, "", "/d/run.lock is free: run again"},
		{Alive, "", r, "", who + "which is alive: wait until it ends"},
		{Unknown, "not yet", Record{}, "", "/d/run.lock is held (not yet): wait until it ends"},
	}
	for _, row := range rows {
		e := &HeldError{Status: Status{Path: "/d/run.lock", State: row.state, Detail: row.detail, Record: row.record}, Clear: row.clear}
		if got := e.Error(); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.state, got, row.want)
		}
	}
}

func TestMessagesKeepControlCharactersOut(t *testing.T) {
	t.Parallel()
	r := Record{PID: 1, Host: "a\nb", Command: "\x1b[2J"}
	e := &HeldError{Status: Status{State: Alive, Record: r}}
	if got := e.Error(); strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%q", got)
	}
}
