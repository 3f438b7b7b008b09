package mutant

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cwdGuard takes the working directory for the repository, and compares by spelling.
//
// Mechanism: whoever starts the program chooses the working directory, so from any other place everything is outside;
// os.Getwd believes $PWD, so does filepath.Abs; and a link, on either side, has another spelling than where it leads. From
// the repository's root, where its unit tests run, it is right. The fix is to ask package guard, whose root is where the
// program itself lies.
var cwdGuard = Design{
	Name:     "cwd-guard",
	About:    "the working directory is taken for the repository, and paths are compared by spelling",
	Acquire:  Real.Acquire,
	Register: atExit,
	Token:    ownToken,
	Outside:  outsideWorkingDirectory,
	Fix: `
-	Outside:  outsideWorkingDirectory,
+	Outside:  outsideRepository,
`}

func outsideWorkingDirectory(path string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if strings.HasPrefix(abs, root) {
		return fmt.Errorf("%s lies in the repository %s: move it out of the repository and name it there", abs, root)
	}
	return nil
}
