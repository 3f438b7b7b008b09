//go:build linux

package place

import (
	"os"
	"strings"
	"testing"
)

// The documentation names every start.
func TestDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/place.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range List() {
		if row.Good == "" {
			t.Errorf("%s: what does a good program do there?", row.Name)
		}
		if row.group() != "closed" && !strings.Contains(string(text), "`"+row.Name+"`") {
			t.Errorf("docs/place.md does not name %s", row.Name)
		}
	}
}
