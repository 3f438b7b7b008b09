//go:build linux

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAckedCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, check, said, list string
		last                    string // line, "" if it holds
	}{
		{"nothing", "", "", "", ""},
		{"all there", "", "ack a b\nhello\nack c\n", `a b\nc\n`, ""},
		{"more than was said", "", "", `a\n`, ""},
		{"lost", "", "ack a\nack b\nack c\n", `b\n`, "lost: a"},
		{"half a line", "", "ack a\nack bc", `a\n`, ""},
		{"refused and gone", "", "refused a\n", "", ""},
		{"refused and there", "", "refused a\n", `a\n`, "refused, and there: a"},
		{"refused once more", "", "ack a\nrefused a\n", `a\n`, ""},
		{"twice", "", "ack a\n", `a\nb\nb\na\n`, "twice: b"},
		{"lost is worse", "", "ack a\n", `b\nb\n`, "lost: a"},
		{"a key like an option", "", "ack -n\nack $x 'y\n", `-n\n$x '"'"'y\n`, ""},
		{"own check holds", "test -d .", "ack a\n", `a\n`, ""},
		{"own check fails", "echo bad; false", "ack a\n", `a\n`, "bad"},
	} {
		if got := lastLine(t, AckedCheck(test.check, "printf %b '"+test.list+"'"), test.said); got != test.last {
			t.Errorf("%s: %q, not %q", test.name, got, test.last)
		}
	}
	if got := lastLine(t, AckedCheck("", "false"), ""); got != "--acked: what is there could not be listed" {
		t.Errorf("a list that fails: %q", got)
	}
}

// lastLine gives the last line of a check that fails.
func lastLine(t *testing.T, check, said string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "said")
	if err := os.WriteFile(file, []byte(said), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", check)
	cmd.Env = append(os.Environ(), "FAULTFS_STDOUT="+file, "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil && len(out) == 0 {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err == nil {
		t.Errorf("it holds, and says %q", out)
	}
	return lines[len(lines)-1]
}
