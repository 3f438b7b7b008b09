//go:build faultlab_tools

package faultlab

// Main builds faultfs in a project whose own code does not import it. The
// import, which no build ever sees, makes "go mod tidy" and "go mod vendor"
// there keep what faultfs needs.
import _ "faultlab/cmd/faultfs"
