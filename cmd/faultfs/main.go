//go:build linux

// Faultfs runs a program and makes its file system fail where a rule says.
package main

import (
	"os"

	"faultlab/internal/cli"
	_ "faultlab/internal/first"
	"faultlab/internal/shim"
)

func main() {
	os.Exit(shim.Main(func() int { return cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }))
}
