package faultlab_test

import (
	"os"
	"strings"
	"testing"
)

// What the README shows is what is tested.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/script/readme.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(string(script), "\n-- ")
	if !strings.Contains(string(readme), strings.TrimSpace(shown)) {
		t.Errorf("the README does not show testdata/script/readme.txtar as it is:\n%s", shown)
	}
	for _, word := range strings.FieldsFunc(string(readme), func(r rune) bool { return strings.ContainsRune(" `|,()\n", r) }) {
		if !strings.HasSuffix(word, ".txtar") {
			continue
		}
		if _, err := os.Stat("testdata/script/" + strings.TrimPrefix(word, "testdata/script/")); err != nil {
			t.Errorf("the README names a script that is not there: %v", err)
		}
	}
}
