// Package first makes the first process of faultfs the guard, before the
// packages that only commands need are initialised: to import it is all. Go
// initialises packages in the order of their paths as far as their imports
// allow, so this one comes before the command line's libraries, and the guard
// never pays for them.
package first

import "faultlab/internal/shim"

func init() { shim.Guard() }
