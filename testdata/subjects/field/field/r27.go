package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

func init() { subjects["r27"] = r27 }

type r27Event struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// r27 keeps a line of JSON for each event: "add ID..." appends and acknowledges each,
// "list" prints them. Bad: it appends to half a line, and drops without a word what
// it cannot read.
func r27(how string, args []string) int {
	text, err := os.ReadFile("events.jsonl")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if args[0] == "list" {
		r27List(how, text)
		return 0
	}
	start := ""
	if how == "good" && len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		fmt.Fprintln(os.Stderr, "events.jsonl: the last line was cut: the next one begins a new one")
		start = "\n"
	}
	if err := r27Add(start, args[1:]); err != nil {
		return fail(err)
	}
	return 0
}

func r27Add(start string, ids []string) error {
	f, err := os.OpenFile("events.jsonl", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // each line is synced before
	for _, id := range ids {
		line, err := json.Marshal(r27Event{id, "né"})
		if err != nil {
			return err
		}
		// One write, or the end of a cut line could be all that a crash leaves of it.
		if _, err := fmt.Fprintf(f, "%s%s\n", start, line); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		fmt.Println("ack", id)
		start = ""
	}
	return nil
}

func r27List(how string, text []byte) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		var e r27Event
		if err := json.Unmarshal(line, &e); err == nil {
			fmt.Println(e.ID)
		} else if how == "good" {
			fmt.Fprintf(os.Stderr, "events.jsonl: line %d is no event: %v\n", number, err)
		}
	}
}
