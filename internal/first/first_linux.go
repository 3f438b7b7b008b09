// Package first makes the first process of faultfs what it is to be, before the
// packages that only commands need are initialised: to import it is all. Go
// initialises packages in the order of their paths as far as their imports
// allow, so this one comes before the command line's libraries, and neither the
// guard nor a launcher ever pays for them.
package first

import (
	"faultlab/internal/launch"
	"faultlab/internal/shim"
)

func init() {
	launch.Main() // a launcher is no guard: it is the subject's own process
	shim.Guard()
}
