package rule

import "testing"

func TestNamesAndNumbers(t *testing.T) {
	names := 0
	for n, name := range errnoNames {
		if name == "" {
			continue
		}
		names++
		if got, ok := ParseErrno(name); !ok || int(got) != n || got.String() != name {
			t.Errorf("%s reads as %d (%s), want %d", name, got, got, n)
		}
	}
	if names != 132 {
		t.Errorf("%d errnos, want 132", names)
	}
	for n, name := range signalNames {
		if got, ok := ParseSignal(name); n > 0 && (!ok || int(got) != n) {
			t.Errorf("%s reads as %d, want %d", name, got, n)
		}
	}
	if got, want := Errno(999).String()+" "+Signal(99).String(), "errno(999) signal(99)"; got != want {
		t.Errorf("unknown numbers print as %s, want %s", got, want)
	}
	if got, want := Verb(99).String()+" "+(Action{}).String()+" "+(Range{}).String(), "verb(99) nothing 1.."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, name := range []string{"", "SIG", "errno(5)"} {
		if n, ok := ParseErrno(name); ok {
			t.Errorf("%q is errno %d", name, n)
		}
		if n, ok := ParseSignal(name); ok {
			t.Errorf("%q is signal %d", name, n)
		}
	}
}
