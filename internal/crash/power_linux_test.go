//go:build linux

package crash

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Real power cuts: a program runs on a file system in an image, the image is
// copied at some moment, and what a mount of the copy recovers must be among the
// states of the record. What may have reached the image is stirred by syncs of
// files that the program has not asked for: they only make more durable.
//
// A loop image has no volatile cache, so this shows that nothing is left out, and
// not that all that is listed can happen.
func TestPowerCutsAreForetold(t *testing.T) {
	if os.Getenv("FAULTLAB_LONG") != "1" || os.Geteuid() != 0 {
		t.Skip("long (FAULTLAB_LONG=1), and only for root")
	}
	for system, model := range map[string]Models{"ext4": Ext4, "xfs": Linux, "btrfs": Linux} {
		t.Run(system, func(t *testing.T) {
			if out, err := mountable(t, system); err != nil {
				if os.Getenv("FAULTLAB_REQUIRE") == "1" && (system == "ext4" || available(system)) {
					t.Fatalf("%v: %s", err, out)
				}
				t.Skipf("%v: %s", err, out)
			}
			for _, w := range cuts {
				t.Run(w.name, func(t *testing.T) { cutPower(t, system, model, w.setup, w.script) })
			}
		})
	}
}

// cuts are small enough for all their states to be listed.
var cuts = []struct{ name, setup, script string }{
	{"replace", "echo old >f", "echo new >t; mv -f t f; echo more >>f; sync f"},
	{"append", "seq 100 >f", "seq 200 300 >>f; echo x >>f; seq 5000 >>f"},
	{"names", "mkdir d; echo 1 >d/a", "echo 2 >b; mv b d/b; mv d/a d/c; rm d/c; sync d"},
}

// cutsEach is how often each program is cut: making an image of xfs or btrfs takes
// its time.
var cutsEach = map[string]int{"ext4": 20, "xfs": 5, "btrfs": 5}

// mountable tries whether images can be mounted here.
func mountable(t *testing.T, system string) ([]byte, error) {
	cmd := exec.Command("sh", "-ec", makeImage(system)+"; umount mnt")
	cmd.Dir = t.TempDir()
	return cmd.CombinedOutput()
}

// available reports whether images of a system can be made here, and the kernel has
// it or can load it: then one that cannot be mounted is no reason to pass.
func available(system string) bool {
	if _, err := exec.LookPath("mkfs." + system); err != nil {
		return false
	}
	known, _ := os.ReadFile("/proc/filesystems")
	return slices.Contains(strings.Fields(string(known)), system) || exec.Command("modprobe", "-n", "-q", system).Run() == nil
}

// makeImage makes a file system whose blocks have the size of those that the record
// is made on: a program writes as much at once as st_blksize says, and ext4's own
// choice for a small image is 1024 bytes, other writes than were recorded.
func makeImage(system string) string {
	size := map[string]string{"ext4": "16M", "xfs": "320M", "btrfs": "128M"}[system]
	how := map[string]string{"ext4": "-b 4096"}[system]
	return fmt.Sprintf("mkdir mnt; truncate -s %s image; mkfs.%s -q %s image; mount -o loop image mnt", size, system, how)
}

func cutPower(t *testing.T, system string, model Models, setup, script string) {
	c := study(t, setup, script)
	foretold := make(map[string]Models)
	states, _ := c.takes[0].enumerate(Options{Model: Strict, Silent: true, Most: 1 << 20})
	for _, s := range states {
		foretold[shown(c.takes[0].disk, s)] |= s.Models
	}
	seen := make(map[string]bool)
	chance := seeded(t)
	_, whole := cutOnce(t, system, setup, script, -1, chance)
	for range cutsEach[system] {
		after := chance.IntN(whole + 1)
		got, _ := cutOnce(t, system, setup, script, after, chance)
		m, known := foretold[got]
		switch {
		case !known:
			t.Errorf("cut after %d of %d changes: nobody foretold %.300q", after, whole, got)
		case m&model == 0:
			t.Errorf("cut after %d of %d changes: foretold by %v and not by %v: %.300q", after, whole, m, model, got)
		}
		seen[got] = true
	}
	t.Logf("%d cuts left %d of %d states", cutsEach[system], len(seen), len(foretold))
}

// cutOnce runs the program once in a fresh image, up to so many changes (-1: all),
// and tells what a copy of the image, taken then, holds, and how many there were.
func cutOnce(t *testing.T, system, setup, script string, after int, chance *rand.Rand) (string, int) {
	t.Helper()
	dir := t.TempDir()
	image, copied, at := filepath.Join(dir, "image"), filepath.Join(dir, "copy"), filepath.Join(dir, "mnt")
	sh(t, dir, makeImage(system)+"; mkdir mnt/tree")
	mounted := true
	defer func() {
		if mounted {
			sh(t, dir, "umount mnt")
		}
	}()
	root := filepath.Join(at, "tree")
	sh(t, root, setup)
	sh(t, root, "sync -f .")
	count, err := runBare(root, script, after)
	if err != nil {
		t.Fatal(err)
	}
	stir(root, chance)
	goDown(t, at)
	sh(t, dir, "cp --sparse=always image copy")
	sh(t, dir, "umount mnt; mount -o loop "+copied+" mnt")
	got := listed(t, root)
	sh(t, dir, "umount mnt")
	mounted = false
	_ = os.Remove(image)
	return got, count
}

// goDown stops a file system at once, with nothing flushed: what is copied after that
// is of one moment. A system that knows of no such thing is copied as it goes.
func goDown(t *testing.T, at string) {
	t.Helper()
	const shutdown, noLogFlush = 0x8004587d, 2 // XFS_IOC_GOINGDOWN, which ext4 has, too
	dir, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	err = unix.IoctlSetPointerInt(int(dir.Fd()), shutdown, noLogFlush)
	if err != nil && err != unix.ENOTTY && err != unix.EOPNOTSUPP {
		t.Fatalf("shut down %s: %v", at, err)
	}
}

// stir makes some file or directory durable, as the kernel's own writing back
// might.
func stir(root string, chance *rand.Rand) {
	var all []string
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	for range chance.IntN(3) {
		if f, err := os.Open(all[chance.IntN(len(all))]); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	}
}

// listed writes a tree down as shown does.
func listed(t *testing.T, root string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if e.IsDir() {
			out = append(out, rel+"/")
			return nil
		}
		text, err := os.ReadFile(path)
		out = append(out, rel+"="+printed(string(text)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}
