package faultlab_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// TestFullScratchDisk: a disk that is full before anything runs is told with its
// place and the cure, and is nobody's finding; one that the program fills is its
// own doing.
func TestFullScratchDisk(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("no disk of a test's own: %v\n%s", err, out)
	}
	for _, test := range []struct{ size, program, want string }{
		{"40m", "touch f", `^faultfs: void: the disk of \S+ is full: \d+ MiB are left and 64 MiB are needed, .* such as TMPDIR=/var/tmp\n$`},
		{"99m", "touch f", `^sweep: no finding in \d+ experiments`},
		{"99m", "sh -c 'yes | head -c 150m > f'", `^faultfs: void: the program fills the disk: .*, without any fault\n$`},
	} {
		dir := t.TempDir()
		out, _ := exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size="+test.size+" none "+dir+
			" && TMPDIR="+dir+" exec faultfs sweep --timeout 1m --ops create --faults EIO -- "+test.program).CombinedOutput()
		if !regexp.MustCompile(test.want).Match(out) {
			t.Errorf("%s on %s: %s", test.program, test.size, out)
		}
	}
}
