package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
)

func init() { subjects["r26"] = r26 }

// r26 keeps keys in a journal: "put KEY..." appends and acknowledges each, "list"
// replays. Bad: it appends behind half a record, where no replay gets to.
func r26(how string, args []string) int {
	text, err := os.ReadFile("journal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	keys, sound := r26Replay(text)
	if how == "good" && r26Lost(text[sound:]) {
		return fail(fmt.Errorf("journal is damaged at byte %d, and good records follow: restore it from a copy", sound))
	}
	if args[0] == "put" {
		err = r26Append(how, int64(sound), args[1:])
	} else {
		for _, key := range keys {
			fmt.Println(key)
		}
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r26Append ends the journal after its last whole record, but in bad.
func r26Append(how string, sound int64, keys []string) error {
	f, err := os.OpenFile("journal", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close() // each record is synced before
	if how == "good" {
		if err := f.Truncate(sound); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if _, err := f.Write(r26Record(key)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		fmt.Println("ack", key)
	}
	return nil
}

func r26Record(key string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(key)))
	return append(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(key))), key...)
}

// r26Replay is the keys up to the first record that is not whole, and where that begins.
func r26Replay(text []byte) (keys []string, sound int) {
	for len(text)-sound >= 8 {
		size, sum := binary.BigEndian.Uint32(text[sound:]), binary.BigEndian.Uint32(text[sound+4:])
		rest := text[sound+8:]
		if size == 0 || uint64(size) > uint64(len(rest)) || crc32.ChecksumIEEE(rest[:size]) != sum {
			break
		}
		keys, sound = append(keys, string(rest[:size])), sound+8+int(size)
	}
	return keys, sound
}

// r26Lost is whether a whole record begins anywhere behind the damage.
func r26Lost(tail []byte) bool {
	for i := range tail {
		if keys, _ := r26Replay(tail[i:]); len(keys) > 0 {
			return true
		}
	}
	return false
}
