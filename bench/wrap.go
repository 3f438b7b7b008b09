package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// The wrappers run a subject the way faultfs and strace do: as a child of their
// own, with the streams that they were given.

// bareNotify is the barest supervisor there can be. Hurry may change
// how its thread is scheduled.
func bareNotify(args []string, hurry func()) error {
	trapped := make(chan int)
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the filter stays: the thread ends with its goroutine
		listener, err := trapPwrite()
		if err != nil {
			failed <- fmt.Errorf("install the filter: %w", err)
			return
		}
		trapped <- listener
		cmd := child(args)
		if err := cmd.Start(); err != nil {
			failed <- fmt.Errorf("start %s: %w", args[0], err)
		}
	}()
	select {
	case err := <-failed:
		return err
	case listener := <-trapped:
		hurry()
		continueAll(listener)
		return nil
	}
}

func init() {
	// The first thread must not be the one that gets the filter: it never dies.
	runtime.LockOSThread()
}

// realTime needs a privilege; shortTurns needs none.
func realTime() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
}

func shortTurns() {
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Runtime: 100_000}, 0)
}

func child(args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

// emptyFuse mounts an empty file system on a directory and runs a subject. It
// is started in a mount namespace of its own, so the mount dies with it.
func emptyFuse(dir string, args []string) error {
	server, err := fuse.NewServer(&sink{fuse.NewDefaultRawFileSystem()}, dir, &fuse.MountOptions{
		DirectMountStrict: true,
		DisableXAttrs:     true,
		SingleThreaded:    os.Getenv("BENCH_FUSE_SINGLE") != "",
		FsName:            "faultlab-bench", Name: "sink",
	})
	if err != nil {
		return fmt.Errorf("mount on %s: %w", dir, err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("serve %s: %w", dir, err)
	}
	// The subject must not hold the connection too: if this process were killed,
	// its calls would wait for an answer that only it itself could give.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("keep the connection to ourselves: %w", err)
	}
	return child(args).Run()
}

// sink is a file system with one file, whose writes do nothing.
type sink struct{ fuse.RawFileSystem }

const (
	nodeHot    = 2
	forSeconds = 3600 // how long the kernel may keep what it was told
)

func attributes(node uint64, out *fuse.Attr) {
	out.Ino, out.Nlink, out.Mode = node, 1, syscall.S_IFREG|0o666
	out.Size = bytesPerWrite
	if node == fuse.FUSE_ROOT_ID {
		out.Mode = syscall.S_IFDIR | 0o777
	}
}

func (s *sink) Lookup(_ <-chan struct{}, _ *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if name != hot {
		return fuse.ENOENT
	}
	out.NodeId, out.EntryValid, out.AttrValid = nodeHot, forSeconds, forSeconds
	attributes(nodeHot, &out.Attr)
	return fuse.OK
}

func (s *sink) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	out.AttrValid = forSeconds
	attributes(in.NodeId, &out.Attr)
	return fuse.OK
}

func (s *sink) Open(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (s *sink) Write(_ <-chan struct{}, _ *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	return uint32(len(data)), fuse.OK
}

func (s *sink) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }
