// Command coordinator grants leases with fencing tokens on a Unix socket. See
// coordinator --help, and package faultlab/fence for what the tokens promise.
package main

import (
	"os"

	"faultlab/internal/coordinator"
)

func main() { os.Exit(coordinator.Main(os.Args[1:], os.Stdout, os.Stderr)) }
