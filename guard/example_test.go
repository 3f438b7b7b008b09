package guard_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"faultlab/guard"
)

// A program refuses held-out data that lies in its own repository. Here the
// root is given; a real program lets Find look above the executable.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	repo := filepath.Join(dir, "repo")
	if err := os.Mkdir(repo, 0o755); err != nil {
		panic(err)
	}

	root, err := guard.Find(guard.Options{Root: repo})
	if err != nil {
		panic(err)
	}
	fmt.Println(root.Outside(filepath.Join(dir, "repo-data/heldout.jsonl")))

	err = root.Outside(dir + "/other/../repo/heldout.jsonl")
	var undecided *guard.UndecidedError
	fmt.Println("other/ does not exist, so nobody can tell:", errors.As(err, &undecided))

	err = root.Outside(filepath.Join(repo, "not/yet/heldout.jsonl"))
	var inside *guard.InsideError
	fmt.Println("inside:", errors.As(err, &inside))
	// Output:
	// <nil>
	// other/ does not exist, so nobody can tell: true
	// inside: true
}
