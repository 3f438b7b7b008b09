package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

func init() { subjects["r01"] = r01 }

// r01 takes a lock file in which its owner stands. Bad: by the process id alone, so that
// whoever has that number later is taken for the owner. Good: also by when it started, in
// which boot, on which host; what cannot be judged is not taken over.
func r01(how string, _ []string) int {
	self, judge := strconv.Itoa(os.Getpid()), r01ByNumber
	if how == "good" {
		self, judge = r01Identity(os.Getpid()), r01ByIdentity
	}
	err := r01Take(self, judge)
	if err == nil {
		err = errors.Join(witness(), os.Remove("lock"))
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// r01Take looks and clears under a guard; nobody else may take in between.
func r01Take(self string, judge func(record string) error) error {
	guard, err := os.OpenFile("guard", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := syscall.Flock(int(guard.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	b, err := os.ReadFile("lock")
	if err == nil {
		err = judge(strings.TrimSpace(string(b)))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile("lock", []byte(self+"\n"), 0o644)
}

// r01ByNumber is an error where the owner is thought to live.
func r01ByNumber(record string) error {
	pid, err := strconv.Atoi(record)
	if err != nil || gone(pid) {
		return err
	}
	return fmt.Errorf("lock is held by process %d", pid)
}

func r01ByIdentity(record string) error {
	var pid int
	var start, boot, host string
	if _, err := fmt.Sscan(record, &pid, &start, &boot, &host); err != nil {
		return fmt.Errorf("lock is not readable, and may be held: %q", record)
	}
	if here, _ := os.Hostname(); host != here {
		return fmt.Errorf("lock is held on host %s, where nobody can look from here", host)
	}
	if r01Identity(pid) == record {
		return fmt.Errorf("lock is held by process %d", pid)
	}
	return nil
}

// r01Identity is what no other process will ever be; "" for one that is not there.
func r01Identity(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The name, in brackets, may hold anything; the start is the 20th field behind it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	host, _ := os.Hostname()
	return fmt.Sprint(pid, " ", fields[19], " ", strings.TrimSpace(string(boot)), " ", host)
}
