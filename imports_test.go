package faultlab_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport says, for each package, which of ours it may import. A package that
// is not here has no place in the house.
var mayImport = map[string]string{
	"internal/op":      "",
	"internal/rule":    "internal/op",
	"internal/record":  "internal/op",
	"internal/shim":    "internal/record internal/rule internal/op",
	"internal/launch":  "",
	"internal/first":   "internal/launch internal/shim",
	"internal/tree":    "",
	"internal/verdict": "internal/tree",
	"internal/report":  "",
	"internal/scratch": "internal/tree",
	"internal/trial":   "internal/launch internal/record internal/shim internal/scratch internal/report internal/verdict internal/tree internal/rule internal/op",
	"internal/race":    "internal/trial internal/shim internal/report internal/verdict internal/tree internal/rule internal/op",
	"internal/sweep":   "internal/trial internal/report internal/rule internal/op",
	"internal/place":   "internal/trial internal/scratch internal/launch internal/report internal/verdict internal/tree internal/op",
	"internal/crash":   "internal/record internal/trial internal/report internal/shim internal/tree internal/rule internal/op",
	"internal/cli":     "internal/crash internal/race internal/sweep internal/place internal/trial internal/report internal/shim internal/rule internal/op",
	"cmd/faultfs":      "internal/cli internal/first internal/shim",
	"internal/tour":    "",

	"lock": "", "exit": "", "fence": "", "guard": "",
	"internal/mutant":      "lock exit fence guard",
	"internal/worker":      "lock exit fence guard internal/mutant",
	"internal/coordinator": "fence exit",
	"cmd/worker":           "internal/worker",
	"cmd/coordinator":      "internal/coordinator",

	"":                           "internal/rule internal/op fence",
	"testdata/subjects/subject":  "",
	"internal/report/schematest": "",
}

// pure packages touch neither files nor processes.
var pure = []string{"internal/op", "internal/rule", "internal/tree", "internal/verdict", "internal/report", "internal/record"}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	for pkg, imports := range importsOf(t) {
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s is not in the table: say what it may import", pkg)
		}
		for _, dep := range imports {
			ours, own := strings.CutPrefix(dep, "faultlab")
			if own && !slices.Contains(strings.Fields(allowed), strings.TrimPrefix(ours, "/")) {
				t.Errorf("%s imports %s", pkg, dep)
			}
			if slices.Contains(pure, pkg) && slices.Contains([]string{"os", "os/exec", "syscall", "golang.org/x/sys/unix"}, dep) {
				t.Errorf("%s imports %s: it is pure", pkg, dep)
			}
		}
	}
}

func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all[strings.TrimPrefix(strings.TrimPrefix(f[0], "faultlab"), "/")] = f[1:]
	}
	return all
}

// Unsafe code stands in files that say so.
func TestUnsafeIsNamed(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_unsafe.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if spec.Path.Value == `"unsafe"` {
				t.Errorf("%s imports unsafe: such code belongs in a file named *_unsafe.go", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
