package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

func init() { subjects["r19"] = r19 }

// r19 sets a key in the file config. Bad: it saves over the live file, which is
// empty before the disk is asked for room. An empty config is none: the other
// keys are then gone for good.
func r19(how string, args []string) int {
	old, err := os.ReadFile("config")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	text := r19Set(string(old), args[0], args[1])
	save := r19Replace
	if how == "bad" {
		save = func(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }
	}
	if err := save("config", text); err != nil {
		return fail(err)
	}
	return 0
}

func r19Set(text, key, value string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, key+"=") {
			out.WriteString(line)
		}
	}
	return out.String() + key + "=" + value + "\n"
}

// r19Replace makes the new file beside the old one, which stays what it is until
// all of the new one is on the disk.
func r19Replace(name, text string) error {
	f, err := os.OpenFile(name+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return r19SyncDir(".")
}

func r19SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
