//go:build linux

package trial

import (
	"errors"
	"strings"

	"faultlab/internal/shim"
)

// errAnyway marks what is no better where the program runs alone.
var errAnyway = errors.New("alone, too")

// reason is an error that errAnyway marks.
type reason struct{ error }

func anyway(err error) error { return reason{err} }

func (r reason) Unwrap() error        { return r.error }
func (r reason) Is(target error) bool { return target == errAnyway }

// soundCheck says why the user's check is no oracle.
func (r *Runner) soundCheck(c Outcome) error {
	switch status := c.Status(); {
	case !c.Ran:
		return nil
	case c.Hang != "":
		return shim.Voidf("the check %q %s", heading(r.spec.Check), c.Hang)
	case status == 126 || status == 127:
		return anyway(shim.Voidf("the check %q cannot be run: status %d%s", heading(r.spec.Check), status, LastLine(c.Text())))
	case status != 0:
		return shim.Voidf("the check %q fails without any fault: status %d%s", heading(r.spec.Check), status, LastLine(c.Text()))
	}
	return nil
}

// heading is the first line of a script.
func heading(script string) string {
	if first, _, more := strings.Cut(script, "\n"); more {
		return first + " …"
	}
	return script
}
