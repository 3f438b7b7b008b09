package shim

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardEnv names the descriptor that ties a supervisor to its guard. It never
// reaches a subject.
const guardEnv = "FAULTFS_GUARD"

// orphaned is what a supervisor gets when its guard dies.
const orphaned = syscall.SIGPWR

// VoidStatus is the exit status of an experiment that did not take place.
const VoidStatus = 125

// Main runs body in a supervisor of its own, a second process whose guard the
// calling one becomes, and returns its status. It must be called from the main
// goroutine. Whichever of the two dies, the other one ends every subject:
// without that, a subject would live on and its trapped calls would fail with
// ENOSYS.
func Main(body func() int) int {
	Guard()
	fd := os.Getenv(guardEnv)
	_ = os.Unsetenv(guardEnv)
	if err := attach(fd); err != nil {
		fmt.Fprintln(os.Stderr, "faultfs:", err)
		return VoidStatus
	}
	return reap(body)
}

// Guard makes the calling process the guard, and then does not return, unless
// it is a supervisor already. Main does it too; a program may do it sooner.
func Guard() {
	if _, supervisor := os.LookupEnv(guardEnv); !supervisor {
		os.Exit(guard())
	}
}

// attach makes this process a supervisor under a guard.
func attach(text string) error {
	fd, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s=%q is no descriptor: unset it", guardEnv, text)
	}
	unix.CloseOnExec(fd)
	guardSocket.fd = fd
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the subreaper of the subjects: %w", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, orphaned)
	if hungUp(fd, 0) {
		died <- orphaned // before it was to be told
	}
	go func() {
		<-died
		noMoreForks()
		endAll()
		endDescendants()
		os.Exit(VoidStatus)
	}()
	return nil
}

// noMoreForks keeps programs from being started, for good, and waits for those
// that are. What began after the rest was ended would live on.
func noMoreForks() {
	done := make(chan struct{})
	go func() { syscall.ForkLock.Lock(); close(done) }()
	select {
	case <-done:
	case <-time.After(endLimit):
	}
}

// endAll kills every subject.
func endAll() {
	families.Lock()
	var all sync.WaitGroup
	for _, r := range families.runs {
		all.Add(1)
		go func() { defer all.Done(); r.Kill() }()
	}
	families.Unlock()
	all.Wait()
}

var guardSocket = struct {
	sync.Mutex
	fd int
}{fd: -1}

// guardListener gives the guard a duplicate of a listener: while it has one,
// the calls of a subject whose supervisor has died wait instead of failing.
func guardListener(listener int) {
	guardSocket.Lock()
	defer guardSocket.Unlock()
	if guardSocket.fd >= 0 {
		_ = unix.Sendmsg(guardSocket.fd, []byte{0}, unix.UnixRights(listener), nil, 0)
	}
}

// guard starts the supervisor and waits for it.
func guard() int {
	if len(children(os.Getpid())) > 0 {
		return front()
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "faultfs: become the subreaper of the supervisor:", err)
		return VoidStatus
	}
	relayed := make(chan os.Signal, 16)
	notifyUnlessIgnored(relayed, relayedSignals...)
	pid, socket, err := startSupervisor()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultfs: start the supervisor:", err)
		return VoidStatus
	}
	go keepListeners(socket)
	go pass(relayed, pid)
	status, n, err := waitFor(pid)
	// Nothing is left of a run that ended well; of a supervisor that panicked,
	// what is not tied to it.
	n += endDescendants()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultfs: wait for the supervisor:", err)
		return VoidStatus
	}
	if status.Exited() {
		return status.ExitStatus()
	}
	if relays(status.Signal()) {
		// It came to us, and to the supervisor before anything was started.
		return 128 + int(status.Signal())
	}
	fmt.Fprintf(os.Stderr, "faultfs: the supervisor was killed (%v); %d processes of its subject were ended\n", status.Signal(), n)
	return VoidStatus
}

// relayedSignals are passed on to the supervisor, and by it to the subject.
var relayedSignals = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
}

// front stands before the guard in a process that had children before it became
// faultfs (a shell's "server & exec faultfs …"): they are not ours to end, and
// a guard could not tell them from what its subjects leave.
func front() int {
	relayed := make(chan os.Signal, 16)
	notifyUnlessIgnored(relayed, relayedSignals...)
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Pdeathsig: orphaned},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "faultfs: start the guard:", err)
		return VoidStatus
	}
	go pass(relayed, pid)
	for {
		var status unix.WaitStatus
		switch _, err := unix.Wait4(pid, &status, 0, nil); {
		case err == unix.EINTR:
		case err != nil:
			fmt.Fprintln(os.Stderr, "faultfs: wait for the guard:", err)
			return VoidStatus
		case status.Exited():
			return status.ExitStatus()
		default:
			return 128 + int(status.Signal())
		}
	}
}

func pass(relayed <-chan os.Signal, pid int) {
	for sig := range relayed {
		_ = unix.Kill(pid, sig.(syscall.Signal))
	}
}

func relays(sig syscall.Signal) bool {
	return slices.Contains(relayedSignals, os.Signal(sig))
}

// NotifyRelayed sends the signals that are a subject's to c.
func NotifyRelayed(c chan<- os.Signal) { notifyUnlessIgnored(c, relayedSignals...) }

// notifyUnlessIgnored leaves ignored what was ignored at the start (nohup): so
// it stays for the subject.
func notifyUnlessIgnored(c chan<- os.Signal, sigs ...os.Signal) {
	for _, sig := range sigs {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

func startSupervisor() (pid, socket int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(pair[1])
	// High up, so that descriptors which the caller handed down keep their
	// numbers.
	theirs, err := unix.FcntlInt(uintptr(pair[1]), unix.F_DUPFD, 64)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(theirs)
	// The first thread is ours for good: a parent's death is that of the
	// thread which forked.
	pid, err = syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env:   append(os.Environ(), guardEnv+"="+strconv.Itoa(theirs)),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned},
	})
	return pid, pair[0], err
}

// keepListeners holds a duplicate of each listener until its subject has ended.
func keepListeners(socket int) {
	var kept []int
	buf, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	for {
		_, n, _, _, err := unix.Recvmsg(socket, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		kept = append(living(kept), rights(oob[:n])...)
	}
}

func rights(oob []byte) []int {
	msgs, _ := unix.ParseSocketControlMessage(oob)
	var fds []int
	for i := range msgs {
		got, _ := unix.ParseUnixRights(&msgs[i])
		fds = append(fds, got...)
	}
	return fds
}

func living(listeners []int) []int {
	var rest []int
	for _, fd := range listeners {
		if hungUp(fd, 0) {
			_ = unix.Close(fd)
		} else {
			rest = append(rest, fd)
		}
	}
	return rest
}

// waitFor waits for one child and reaps any other that falls to us meanwhile: as
// many of its own have ended with it.
func waitFor(pid int) (ws unix.WaitStatus, others int, err error) {
	for {
		got, err := unix.Wait4(-1, &ws, 0, nil)
		switch {
		case got == pid:
			return ws, others, nil
		case got > 0:
			others++
		case err != unix.EINTR:
			return ws, others, err
		}
	}
}

// endDescendants kills all that descend from this process, until the kernel
// says that there is nobody, and returns how many died. What cannot be killed
// (asleep in the kernel, another user's) is given up after a while.
func endDescendants() int {
	ended := 0
	for limit := time.Now().Add(endLimit); time.Now().Before(limit); time.Sleep(exterminatePause) {
		killTree(os.Getpid(), 0)
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
			if err == unix.ECHILD {
				return ended
			}
			if pid <= 0 {
				break
			}
			ended++
		}
	}
	return ended
}

func killTree(pid, depth int) {
	const deepest = 1000 // a cycle cannot be, but a pid may be reused under us
	if depth > deepest {
		return
	}
	for _, child := range children(pid) {
		_ = unix.Kill(child, unix.SIGKILL)
		killTree(child, depth+1)
	}
}
