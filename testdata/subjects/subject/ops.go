//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

type operation struct {
	args int // at least so many
	do   func(args []string) (string, error)
}

var ops = map[string]operation{
	"open":     {1, func(a []string) (string, error) { return keep(a[0], unix.O_RDWR) }},
	"create":   {1, func(a []string) (string, error) { return keep(a[0], unix.O_RDWR|unix.O_CREAT) }},
	"append":   {1, func(a []string) (string, error) { return keep(a[0], unix.O_WRONLY|unix.O_APPEND) }},
	"readdir":  {1, readdir},
	"read":     {1, read},
	"stat":     {1, func(a []string) (string, error) { var st unix.Stat_t; return done(unix.Stat(a[0], &st)) }},
	"write":    {2, func(a []string) (string, error) { return count(unix.Write(at(a[0]), []byte(a[1]))) }},
	"pwrite":   {2, func(a []string) (string, error) { return count(unix.Pwrite(at(a[0]), []byte(a[1]), 0)) }},
	"writev":   {2, writev},
	"sync":     {1, func(a []string) (string, error) { return done(unix.Fsync(at(a[0]))) }},
	"datasync": {1, func(a []string) (string, error) { return done(unix.Fdatasync(at(a[0]))) }},
	"truncate": {2, func(a []string) (string, error) { return done(unix.Ftruncate(at(a[0]), number(a[1]))) }},
	"allocate": {2, func(a []string) (string, error) { return done(unix.Fallocate(at(a[0]), 0, 0, number(a[1]))) }},
	"rename":   {2, func(a []string) (string, error) { return done(unix.Rename(a[0], a[1])) }},
	"link":     {2, func(a []string) (string, error) { return done(unix.Link(a[0], a[1])) }},
	"symlink":  {2, func(a []string) (string, error) { return done(unix.Symlink(a[1], a[0])) }},
	"unlink":   {1, func(a []string) (string, error) { return done(unix.Unlink(a[0])) }},
	"mkdir":    {1, func(a []string) (string, error) { return done(unix.Mkdir(a[0], 0o755)) }},
	"rmdir":    {1, func(a []string) (string, error) { return done(unix.Rmdir(a[0])) }},
	"attr":     {1, func(a []string) (string, error) { return done(unix.Chmod(a[0], 0o600)) }},
	"lock":     {1, func(a []string) (string, error) { return done(unix.Flock(at(a[0]), unix.LOCK_EX|unix.LOCK_NB)) }},
	"fcntl":    {1, fcntl},
	"close":    {1, closeIt},
	"chdir":    {1, func(a []string) (string, error) { return done(unix.Chdir(a[0])) }},
	"bind":     {1, bind},
	"connect":  {1, connect},
	"onsignal": {2, onSignal},
	"pause":    {1, pause},
	"spawn":    {1, spawn},
	"now":      {1, func([]string) (string, error) { return strconv.FormatInt(time.Now().Unix(), 10), nil }},
}

// open descriptors, by the name under which they were opened.
var open = map[string]int{}

func keep(name string, flags int) (string, error) {
	fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		open[name] = fd
	}
	return done(err)
}

func at(name string) int {
	if fd, ok := open[name]; ok {
		return fd
	}
	return -1
}

func done(err error) (string, error)         { return "ok", err }
func count(n int, err error) (string, error) { return strconv.Itoa(n), err }

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

func errName(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func read(a []string) (string, error) {
	buf := make([]byte, 4096)
	n, err := unix.Pread(at(a[0]), buf, 0)
	return string(buf[:max(n, 0)]), err
}

func readdir(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	_, err = unix.ReadDirent(fd, make([]byte, 4096))
	return done(err)
}

// writev writes each of its words from a buffer of its own.
func writev(a []string) (string, error) {
	var parts [][]byte
	for _, word := range a[1:] {
		parts = append(parts, []byte(word))
	}
	return count(unix.Writev(at(a[0]), parts))
}

func fcntl(a []string) (string, error) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	return done(unix.FcntlFlock(uintptr(at(a[0])), unix.F_SETLK, &lock))
}

// closeIt tells by a second look whether the descriptor has gone.
func closeIt(a []string) (string, error) {
	fd := at(a[0])
	err := unix.Close(fd)
	if _, still := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); still == nil {
		return "", errors.New("still open")
	}
	delete(open, a[0])
	return done(err)
}

func bind(a []string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: a[0]}); err != nil {
		return "", err
	}
	return done(unix.Listen(fd, 1))
}

func connect(a []string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return done(unix.Connect(fd, &unix.SockaddrUnix{Name: a[0]}))
}

// onSignal arranges for a file to be made when a signal comes.
func onSignal(a []string) (string, error) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SignalNum(a[0]))
	go func() {
		<-c
		_ = os.WriteFile(a[1], nil, 0o644)
	}()
	return done(nil)
}

// pause makes a file and waits for a signal, whose name is its result.
func pause(a []string) (string, error) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2)
	if err := os.WriteFile(a[0], nil, 0o644); err != nil {
		return "", err
	}
	return unix.SignalName((<-c).(unix.Signal)), nil
}

// spawn runs a shell command beside what follows; it is never waited for.
func spawn(a []string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", strings.Join(a, " "))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return done(cmd.Start())
}
