package faultlab_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"faultlab"
)

// TestField rebuilds bugs that were reported of other people's programs: each
// script shows the bad design failing and the good one passing the same attack.
// docs/field.md lists them.
//
// FAULTLAB_FIELD=DIR names the folder into which .ci/field has installed the
// programs of the reports themselves; without it, what is about those is left out.
func TestField(t *testing.T) {
	t.Parallel()
	p := testscript.Params{Dir: "testdata/script/field", RequireUniqueNames: true, Setup: fieldSurroundings, Condition: fieldCondition}
	faultlab.Extend(&p)
	testscript.Run(t, p)
}

// fieldSurroundings tells a script where the subjects are ($FIELD), and puts
// installed programs where they are found.
func fieldSurroundings(e *testscript.Env) error {
	subjects, err := filepath.Abs("testdata/subjects/field")
	if err != nil {
		return err
	}
	e.Setenv("FIELD", subjects)
	if dir := os.Getenv("FAULTLAB_FIELD"); dir != "" {
		e.Setenv("PATH", e.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Join(dir, "bin"))
		e.Setenv("NODE_PATH", filepath.Join(dir, "node_modules"))
	}
	return nil
}

func fieldCondition(name string) (bool, error) {
	if name == "installed" {
		return os.Getenv("FAULTLAB_FIELD") != "", nil
	}
	return false, os.ErrInvalid
}
