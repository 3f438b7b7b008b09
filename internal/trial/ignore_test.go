//go:build linux

package trial

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// What is suggested for a shell to --ignore matches the names that are on disk.
func TestIgnoring(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ canonical, typed string }{
		{"odd", "odd"}, {"d/odd", "d/odd"}, {"tmp_{1}", "'./tmp_*'"}, {"d/{1}.log", "'d/*.log'"},
		{"a b", "'a b'"}, {"it's{2}", `'./it'\''s*'`}, {"[x]", `'./\[x\]'`}, {"a*{1}", `'./a\**'`},
	} {
		if got := Ignoring(test.canonical); got != test.typed {
			t.Errorf("%s: %s, not %s", test.canonical, got, test.typed)
		}
		out, err := exec.Command("sh", "-c", "printf %s "+test.typed).Output()
		onDisk := regexp.MustCompile(`\{\d\}`).ReplaceAllString(test.canonical, "Xy7")
		r := &Runner{spec: Spec{Ignore: []string{string(out)}}}
		if err != nil || !r.ignored(onDisk) || r.ignored("else") {
			t.Errorf("%q does not ignore %s alone (%v)", out, onDisk, err)
		}
	}
}

// A control that differs says what to type, and that helps.
func TestIgnoringHelps(t *testing.T) {
	t.Parallel()
	script := `f=$(mktemp tmp_XXXXXXXX); case $f in *[a-mA-M0-4]) echo x > $f;; esac`
	said := regexp.MustCompile(`say --ignore '(.*)'$`)
	for range 20 { // until the names are of both kinds
		_, err := newRunner(t, script, nil).Control(t.Context(), Case{})
		if err == nil {
			continue
		}
		glob := said.FindStringSubmatch(err.Error())
		if glob == nil || !strings.HasPrefix(glob[1], "./tmp_") {
			t.Fatal(err)
		}
		if _, err := newRunner(t, script, func(s *Spec) { s.Ignore = glob[1:] }).Control(t.Context(), Case{}); err != nil {
			t.Error(err)
		}
		return
	}
	t.Fatal("the controls never differed")
}
