//go:build linux

package trial

import "testing"

// A next run says its process: whether it ran again for a state can be seen.
func TestEachStateIsFollowedOnce(t *testing.T) {
	t.Parallel()
	r := newRunner(t, `echo a > f && echo b > g`, func(s *Spec) { s.Next = "echo $$" })
	first := func(text string) string {
		t.Helper()
		run, err := r.Do(t.Context(), ruled(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return run.Next.Stdout
	}
	if a, b := first("write path=g do fail EIO"), first("write path=g do fail EIO"); a == b {
		t.Error("remembered before the controls")
	}
	controls(t, r)
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"the same state", "write path=g do fail EIO", "write path=g do fail ENOSPC", true},
		{"another one", "write path=g do fail EIO", "write path=f do fail EIO", false},
	} {
		if a, b := first(tt.a), first(tt.b); (a == b) != tt.same {
			t.Errorf("%s: next runs %s and %s, the same: want %v", tt.name, a, b, tt.same)
		}
	}
}
