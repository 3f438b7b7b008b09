//go:build linux

package crash

import (
	"slices"
	"strings"
)

// The words before a key, in a line that a program prints.
const (
	ackWord     = "ack "
	refusedWord = "refused "
)

// acknowledges reports whether a program says that it has taken something in.
func acknowledges(stdout string) bool {
	return slices.ContainsFunc(strings.Split(stdout, "\n"), func(line string) bool { return strings.HasPrefix(line, ackWord) })
}

// acknowledges reports whether the program does without a crash. Of the control
// only the beginning of what it prints is kept; the record holds all, though of a
// run that rules may have cut short.
func (c *Crash) acknowledges() bool {
	first := c.takes[0]
	return acknowledges(c.controls.Run.Subject.Stdout) || acknowledges(string(first.saidBefore(len(first.rec.Events))))
}

// AckedCheck is a check that runs the user's own, which may be "", and then holds
// what list prints, a key a line, against what the program had said: all that it
// had acknowledged is there, nothing that it had refused, and nothing twice. What
// it was about to say when it died it has not said: a line without its end does
// not count. Of several failures that of an acknowledgement is told.
func AckedCheck(check, list string) string {
	own := ""
	if check != "" {
		own = "(" + check + "\n) || exit\n"
	}
	return "# --acked '" + strings.ReplaceAll(list, "\n", " ") + "'\n" + own + "(" + list + "\n) > \"$TMPDIR/.there\" || { echo \"--acked: what is there could not be listed\"; exit 1; }\n" +
		`cp "$FAULTFS_STDOUT" "$TMPDIR/.said"
test -z "$(tail -c 1 "$TMPDIR/.said")" || sed '$d' "$FAULTFS_STDOUT" > "$TMPDIR/.said"
exec awk '` + ackedProgram + `' "$TMPDIR/.said" mode=there "$TMPDIR/.there"
`
}

// ackedProgram prints the first key of each sort of failure, losses last.
const ackedProgram = `
mode != "there" && sub(/^` + ackWord + `/, "") { if (!($0 in acked)) { acked[$0]; order[++n] = $0 }; next }
mode != "there" && sub(/^` + refusedWord + `/, "") { refused[$0]; next }
mode != "there" || $0 == "" { next }
{ if (there[$0]++ == 1) twice[++t] = $0; if (($0 in refused) && !($0 in acked)) wrong[++w] = $0 }
END {
	if (t) { print "twice: " twice[1]; bad = 1 }
	if (w) { print "refused, and there: " wrong[1]; bad = 1 }
	for (i = n; i > 0; i--) if (!(order[i] in there)) { print "lost: " order[i]; bad = 1 }
	exit bad
}`
