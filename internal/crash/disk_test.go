//go:build linux

package crash

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"faultlab/internal/op"
	"faultlab/internal/record"
)

// script makes a record by hand: one event a line. The base is f=3 ("old", 3
// bytes) and the directory d=4.
//
//	create PATH ID       PATH is name or d/name
//	write ID OFF TEXT
//	size ID N
//	sync ID · fdatasync ID · failsync ID · syncall
//	rename FROM TO ID
//	unlink PATH
//	mkdir NAME ID
//	say TEXT
func script(t testing.TB, lines string) *disk {
	t.Helper()
	rec := &record.Record{Dir: "/rec/0001/tree", Objects: []record.Object{
		{ID: record.Root, Mode: unix.S_IFDIR | 0o755}, {ID: record.Tmp, Mode: unix.S_IFDIR | 0o755},
		{ID: 3, Mode: unix.S_IFREG | 0o644, Size: 3}, {ID: 4, Mode: unix.S_IFDIR | 0o755},
	}, Names: []record.Set{{Dir: record.Root, Name: "f", To: 3}, {Dir: record.Root, Name: "d", To: 4}}}
	names := map[string]record.ID{"f": 3, "d": 4}
	path := map[record.ID]string{3: "f", 4: "d", 1: "."}
	set := func(p string, to record.ID) record.Set {
		if rest, ok := strings.CutPrefix(p, "d/"); ok {
			return record.Set{Dir: 4, Name: rest, To: to}
		}
		return record.Set{Dir: record.Root, Name: p, To: to}
	}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		w := strings.Fields(line)
		var e record.Event
		number := func(i int) (n int64) { _, _ = fmt.Sscan(w[i], &n); return n }
		id := func(i int) record.ID { return record.ID(number(i)) }
		switch w[0] {
		case "create", "mkdir":
			mode, kind := uint32(unix.S_IFREG|0o644), op.Create
			if w[0] == "mkdir" {
				mode, kind = unix.S_IFDIR|0o755, op.Mkdir
			}
			names[w[1]], path[id(2)] = id(2), w[1]
			e = record.Event{Kind: record.Entry, ID: id(2), New: &record.Object{ID: id(2), Mode: mode},
				Sets: []record.Set{set(w[1], id(2))}, Op: op.Op{Kind: kind, Path: w[1]}}
		case "write":
			e = record.Event{Kind: record.Write, ID: id(1), Off: number(2), Data: []byte(strings.ReplaceAll(w[3], "_", "\x00")), Op: op.Op{Kind: op.Write, Path: path[id(1)]}}
		case "fill": // ID OFF N BYTE
			e = record.Event{Kind: record.Write, ID: id(1), Off: number(2), Data: []byte(strings.Repeat(w[4], int(number(3)))), Op: op.Op{Kind: op.Write, Path: path[id(1)]}}
		case "size":
			e = record.Event{Kind: record.Size, ID: id(1), Size: number(2), Op: op.Op{Kind: op.Truncate, Path: path[id(1)]}}
		case "sync", "fdatasync", "failsync":
			e = record.Event{Kind: record.Sync, ID: id(1), DataOnly: w[0] == "fdatasync", Failed: w[0] == "failsync", Op: op.Op{Kind: op.Sync, Path: path[id(1)]}}
		case "syncall":
			e = record.Event{Kind: record.SyncAll, Op: op.Op{Kind: op.Sync, Path: "."}}
		case "rename":
			e = record.Event{Kind: record.Entry, ID: id(3), Replaces: names[w[2]],
				Sets: []record.Set{set(w[1], 0), set(w[2], id(3))}, Op: op.Op{Kind: op.Rename, Path: w[1], To: w[2]}}
			names[w[2]], path[id(3)] = id(3), w[2]
		case "unlink":
			e = record.Event{Kind: record.Entry, ID: names[w[1]], Sets: []record.Set{set(w[1], 0)}, Op: op.Op{Kind: op.Unlink, Path: w[1]}}
		case "say":
			e = record.Event{Kind: record.Say, Data: []byte(w[1])}
		default:
			t.Fatalf("script: %q", line)
		}
		rec.Events = append(rec.Events, e)
	}
	return newDisk(rec, func(id record.ID, off int64, buf []byte) {
		if id != 3 {
			t.Errorf("the base has no contents of %d", id)
		}
		copy(buf, "old"[min(off, 3):])
	})
}

// shown prints what a state leaves: the whole tree, a name=contents each.
func shown(d *disk, s *State) string {
	l := d.leaves(s)
	if l == nil {
		return "impossible"
	}
	var out []string
	for id, o := range d.objects {
		for _, p := range l.reached(id) {
			switch {
			case o.Mode&unix.S_IFMT == unix.S_IFDIR:
				p += "/"
			default:
				im := l.image(id)
				p += "=" + printed(string(im.bytes(d.read, 0, im.size)))
			}
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// printed is a file's contents, shortened where they are long.
func printed(text string) string {
	if len(text) > 24 {
		text = runs(text)
	}
	return strings.ReplaceAll(text, "\x00", "_")
}

// runs shortens long contents: a500 b12.
func runs(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		fmt.Fprintf(&b, "%c%d", s[i], j-i)
		i = j
	}
	return b.String()
}

func TestPending(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"nothing is durable without a sync", "create a 5\nwrite 5 0 x\nrename a f 5", "create a#1, write a#1, rename f#1"},
		{"a file's sync covers its data, not its name", "create a 5\nwrite 5 0 x\nsync 5", "create a#1"},
		{"a directory's sync covers names, not data", "create a 5\nwrite 5 0 x\nsync 1", "write a#1"},
		{"of either directory for a rename", "create a 5\nsync 5\nsync 1\nrename a d/a 5\nsync 4", ""},
		{"another directory's does nothing", "create a 5\nsync 4", "create a#1"},
		{"all of it", "create a 5\nwrite 5 0 x\nsyncall\nwrite 5 1 y", "write a#2"},
		{"what comes after the sync is not in it", "write 3 0 x\nsync 3\nwrite 3 1 y", "write f#2"},
		{"a failed sync loses the pages for good", "write 3 0 x\nfailsync 3\nwrite 3 1 y\nsync 3", "write f#1"},
	} {
		d := script(t, c.script)
		var got []string
		for _, i := range d.pending(len(d.rec.Events)) {
			got = append(got, d.labels[i])
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: pending %q, want %q", c.name, s, c.want)
		}
	}
}

// What single choices leave, worked out by hand.
func TestLeaves(t *testing.T) {
	const replace = "create a 5\nwrite 5 0 new\nrename a f 5"
	const append2 = "fill 3 3 600 x\nfill 3 603 600 y"
	for _, c := range []struct{ script, choice, want string }{
		{replace, "at the start", "d/ f=old"},
		{replace, "after create a#1", "a= d/ f=old"},
		{replace, "at the end", "d/ f=new"},
		{replace, "at the end, lost: all", "d/ f=old"},
		{replace, "at the end, lost: data", "d/ f="},
		{replace, "at the end, size only: write a#1", "d/ f=___"},
		{replace, "at the end, lost: rename f#1", "a=new d/ f=old"},
		{replace, "at the end, lost: create a#1", "d/ f=new"},
		{replace, "at the end, lost: all, kept: create a#1", "a= d/ f=old"},
		{"write 3 1 LD!", "at the end, lost: all", "d/ f=old"},
		{"write 3 1 LD!", "at the end, size only: all", "d/ f=old_"},
		{"size 3 0\nwrite 3 0 n", "at the end, lost: write f#1", "d/ f="},
		{"size 3 0\nwrite 3 0 n", "at the end, lost: truncate f#1", "d/ f=nld"},
		{"size 3 1", "at the end, zeroed: truncate f#1", "d/ f=o__"},
		{append2, "at the end, head 509: write f#1; write f#2", "d/ f=o1l1d1x600y509"},
		{append2, "at the end, size only: write f#1, grown 509: write f#2", "d/ f=o1l1d1_1109"},
		// A sector has one content: the write that is lost in it has come with the
		// one that is kept.
		{"write 3 3 aaa\nwrite 3 6 bbb", "at the end, lost: write f#1", "d/ f=oldaaabbb"},
		{"mkdir e 5\nrename e d/e 5", "at the end, lost: rename d/e#1", "d/ e/ f=old"},
		{"rename d e 4\nrename e g 4", "at the end, lost: rename e#1", "impossible"},
		{"unlink f", "at the end, lost: all", "d/ f=old"},
		{"unlink f", "at the end", "d/"},
	} {
		d := script(t, c.script)
		s, err := d.parse(c.choice)
		if err != nil {
			t.Errorf("%s: %v", c.choice, err)
			continue
		}
		if got := shown(d, s); strings.ReplaceAll(got, "\x00", "_") != strings.ReplaceAll(c.want, "\x00", "_") {
			t.Errorf("%q\n%s: %s, want %s", c.script, c.choice, got, c.want)
		}
	}
}
