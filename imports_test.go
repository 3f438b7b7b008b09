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

// layers are the lab's packages from the ground up: each may import only those
// that stand before it. The packages that it proves stand apart.
var layers = []string{
	"faultlab/internal/op",
	"faultlab/internal/rule",
	"faultlab/internal/shim",
	"faultlab/internal/first",
	"faultlab/internal/cli",
	"faultlab/cmd/faultfs",
}

// pure packages touch neither files nor processes.
var pure = []string{"faultlab/internal/op", "faultlab/internal/rule"}

// proven packages are for everybody, and know nothing of the lab.
var proven = []string{"faultlab/lock", "faultlab/exit", "faultlab/fence", "faultlab/guard"}

func TestImportsRunOneWay(t *testing.T) {
	t.Parallel()
	for pkg, imports := range importsOf(t) {
		for _, dep := range imports {
			if at, from := slices.Index(layers, dep), slices.Index(layers, pkg); from >= 0 && at > from {
				t.Errorf("%s imports %s, which stands above it", pkg, dep)
			}
			if slices.Contains(proven, pkg) && strings.HasPrefix(dep, "faultlab/internal/") {
				t.Errorf("%s imports %s: a proven package knows nothing of the lab", pkg, dep)
			}
			if slices.Contains(pure, pkg) && slices.Contains([]string{"os", "os/exec", "syscall", "golang.org/x/sys/unix"}, dep) {
				t.Errorf("%s imports %s: it is pure", pkg, dep)
			}
			if strings.HasPrefix(dep, "faultlab/cmd/") {
				t.Errorf("%s imports %s: a program is nobody's library", pkg, dep)
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
		all[f[0]] = f[1:]
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
