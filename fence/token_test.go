package fence

import "testing"

func TestParseToken(t *testing.T) {
	for _, n := range []uint64{1, 7, 18446744073709551615} {
		if got, err := ParseToken(tok(n).String()); got != tok(n) || err != nil {
			t.Errorf("%v came back as %v, %v", tok(n), got, err)
		}
	}
	for _, s := range []string{"", "7", "7@", "@" + testGrantor, "0@" + testGrantor, "-1@" + testGrantor, "+1@" + testGrantor,
		"07@" + testGrantor, "18446744073709551616@" + testGrantor, "7@0123456789ABCDEF", "7@" + testGrantor + "0", " 7@" + testGrantor, "7@" + testGrantor + "\n"} {
		_, err := ParseToken(s)
		wantError[*InvalidError](t, err, "token")
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("7@" + testGrantor)
	f.Add("x")
	f.Fuzz(func(t *testing.T, s string) {
		if tk, err := ParseToken(s); err == nil && tk.String() != s {
			t.Errorf("%q prints as %q", s, tk)
		}
	})
}
