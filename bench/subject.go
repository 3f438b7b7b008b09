package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// The subject is the program whose calls are timed. It lives as long as the
// measurement, does a batch of calls when it is told to, and times the batch by
// itself: neither its start nor its pipes count.

// hot is the file, in the directory that the subject is given, that the calls
// are about.
const hot = "hot"

// bytesPerWrite is what one timed write asks for, always at offset 0, so that
// the file does not grow.
const bytesPerWrite = 256

// subject serves batches, one a line ("CALL COUNT"), until standard input ends.
// It answers with the batch's nanoseconds and the number of calls that failed.
func subject(args []string) error {
	if len(args) != 1 {
		return errors.New("subject: want one directory")
	}
	runtime.LockOSThread()
	path := filepath.Join(args[0], hot)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		var name string
		var count int
		if _, err := fmt.Fscan(in, &name, &count); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a batch: %w", err)
		}
		call, ok := timed[name]
		if !ok {
			return fmt.Errorf("no such call to time: %s", name)
		}
		failed := 0
		began := time.Now()
		for range count {
			if !call(fd, path) {
				failed++
			}
		}
		fmt.Println(time.Since(began).Nanoseconds(), failed)
	}
}

var block [bytesPerWrite]byte

// timed are the calls, made as directly as Go can. Each reports whether the
// call did all it was asked to.
var timed = map[string]func(fd int, path string) bool{
	"pwrite":  func(fd int, _ string) bool { return pwrite(fd, block[:]) == bytesPerWrite },
	"pread":   func(fd int, _ string) bool { return pread(fd, block[:]) == bytesPerWrite },
	"fstat":   func(fd int, _ string) bool { return fstat(fd) },
	"getppid": func(int, string) bool { unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); return true },
	"fault":   func(int, string) bool { return touch() },
	"open+close": func(_ int, path string) bool {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return unix.Close(fd) == nil && err == nil
	},
}
