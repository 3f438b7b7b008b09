package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"faultlab/exit"
)

func init() { subjects["r30"] = r30 }

// r30 starts a helper, and a goroutine that writes a heartbeat and panics where it
// cannot; it stops the helper when it returns. With an argument it goes on until
// it is ended.
func r30(how string, args []string) int {
	if how == "good" {
		exit.Main(func() int { return supervise(true, len(args) > 0) })
	}
	return supervise(false, len(args) > 0)
}

func supervise(good, stay bool) int {
	helper := exec.Command("sleep", "300")
	stop := func() error { return killed(helper) }
	if good {
		// The kernel ends the helper with the thread that started it, so that one must stay.
		runtime.LockOSThread()
		helper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		err := exit.Do(func() error {
			err := helper.Start()
			if err == nil {
				exit.Register(stop)
			}
			return err
		})
		if err != nil {
			return fail(err)
		}
	} else {
		if err := helper.Start(); err != nil {
			return fail(err)
		}
		defer stop()
	}
	done := make(chan struct{})
	work := func() {
		beat(helper.Process.Pid)
		close(done)
	}
	if good {
		exit.Go(work)
	} else {
		go work()
	}
	<-done
	if stay {
		if err := os.WriteFile("ready", nil, 0o644); err != nil {
			return fail(err)
		}
		time.Sleep(time.Minute)
	}
	return 0
}

func beat(pid int) {
	if err := os.WriteFile("beat", fmt.Appendln(nil, pid), 0o644); err != nil {
		panic(err)
	}
}

func killed(c *exec.Cmd) error {
	err := c.Process.Kill()
	_ = c.Wait() // it was killed
	return err
}
