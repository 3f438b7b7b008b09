package faultlab_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leak is one row of testdata/subjects/leaky/table.tsv: a small program in a
// leaky and in a sound variant.
type leak struct {
	name, language, bad, good, base, check, command string
	verdicts                                        []string
	rule                                            string // that shows it
}

// leaks reads the table.
func leaks(t *testing.T) []leak {
	t.Helper()
	f, err := os.Open("testdata/subjects/leaky/table.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []leak
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(cells[0], "#") || cells[0] == "name" {
			continue
		}
		if len(cells) < 9 {
			t.Fatalf("table.tsv: %q", lines.Text())
		}
		all = append(all, leak{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], strings.Split(cells[7], ","), cells[8]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// narrowed is where to look in the time that a test has; with FAULTLAB_FULL=1,
// which takes a quarter of an hour, nobody tells where.
func (l leak) narrowed() []string {
	words := strings.Fields(l.rule)
	switch {
	case os.Getenv("FAULTLAB_FULL") == "1":
		return nil
	case l.command == "place" && l.name == "total":
		return []string{"--only", "stdout=/dev/full"}
	case l.command == "place":
		return []string{"--only", "cwd=/"}
	}
	fault := words[slices.Index(words, "do")+1:]
	if fault[0] == "fail" {
		fault = fault[1:]
	}
	return []string{"--ops", words[0], "--faults", fault[0]}
}

// interpreters are what a language's programs need on PATH.
var interpreters = map[string]string{"python": "python3", "node": "node", "sh": "sh", "c": "cc", "go": "go"}

// TestLeaky lets faultfs look at small programs in several languages: every leak
// is found, with a verdict that fits, and where it is mended nothing is.
func TestLeaky(t *testing.T) {
	t.Parallel()
	needsFaultfs(t)
	bin := buildLeaky(t)
	all := leaks(t)
	if len(all) < 12 {
		t.Fatalf("%d programs", len(all))
	}
	for _, l := range all {
		if _, err := exec.LookPath(interpreters[l.language]); err != nil {
			if os.Getenv("FAULTLAB_REQUIRE") == "1" {
				t.Errorf("%s: %v", l.name, err)
			}
			continue
		}
		t.Run(l.name+"/bad", func(t *testing.T) { t.Parallel(); l.mustLeak(t, bin) })
		t.Run(l.name+"/good", func(t *testing.T) { t.Parallel(); l.mustHold(t, bin) })
	}
}

func (l leak) mustLeak(t *testing.T, bin string) {
	found, status, said := l.look(t, bin, l.bad)
	if status != 1 || !slices.ContainsFunc(l.verdicts, func(v string) bool { return slices.Contains(found, v) }) {
		t.Errorf("status %d, found %q, and not %q\n%s", status, found, l.verdicts, said)
	}
}

func (l leak) mustHold(t *testing.T, bin string) {
	if found, status, said := l.look(t, bin, l.good); status != 0 || len(found) > 0 {
		t.Errorf("status %d, found %q\n%s", status, found, said)
	}
}

// look runs faultfs over one variant and returns the verdicts of its findings.
func (l leak) look(t *testing.T, bin, variant string) (found []string, status int, said string) {
	t.Helper()
	leaky, err := filepath.Abs("testdata/subjects/leaky")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "report.json")
	args := []string{l.command, "--jobs", "1", "--timeout", "30s", "--json", out, "--tree", filepath.Join(leaky, l.base)}
	if l.check != "-" {
		args = append(args, "--check", l.check)
	}
	args = append(append(args, l.narrowed()...), "--")
	words := strings.Fields(strings.NewReplacer("{leaky}", leaky, "{bin}", bin).Replace(variant))
	words[0] = interpreter(words[0])
	cmd := exec.Command("faultfs", append(args, words...)...)
	text, _ := cmd.CombinedOutput()
	var r struct{ Findings []struct{ Verdict string } }
	if report, err := os.ReadFile(out); err == nil {
		if err := json.Unmarshal(report, &r); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range r.Findings {
		found = append(found, f.Verdict)
	}
	return found, cmd.ProcessState.ExitCode(), string(text)
}

// interpreter is Python itself, where what is on PATH is a script that looks for
// one, and takes longer than the program.
func interpreter(name string) string {
	if name == "python3" {
		if out, err := exec.Command(name, "-c", "import sys; print(sys.executable)").Output(); err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return name
}

// buildLeaky builds the programs that have to be.
func buildLeaky(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	sources, err := filepath.Glob("testdata/subjects/leaky/*.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		if out, err := exec.Command("cc", "-O1", "-o", filepath.Join(bin, name), source).CombinedOutput(); err != nil {
			t.Logf("%v\n%s", err, out)
		}
	}
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./testdata/subjects/leaky/...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}
