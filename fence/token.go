package fence

import (
	"fmt"
	"strconv"
	"strings"
)

// Token is a fencing token: the N-th lease that the grantor with this random
// id ever granted. Only tokens of one grantor can be compared, which is why the
// id goes with the number. The zero Token is of no grantor and is refused
// everywhere.
//
// Its text form, also in JSON, is the number and the id: "7@8f3c2a9e1b5d4c60".
type Token struct {
	Grantor string // 16 lower-case hexadecimal digits
	N       uint64 // from 1
}

// idLen is the length of a grantor's id: 64 random bits.
const idLen = 16

// ParseToken reads the text form of a token.
func ParseToken(s string) (Token, error) {
	num, id, ok := strings.Cut(s, "@")
	n, err := strconv.ParseUint(num, 10, 64)
	t := Token{Grantor: id, N: n}
	// Only the canonical spelling: "07" and "+7" would be tokens that print
	// differently from what was read.
	if !ok || err != nil || !t.valid() || t.String() != s {
		return Token{}, &InvalidError{What: "token", Value: s, Want: "a number and the grantor's id, such as 7@8f3c2a9e1b5d4c60, as the grant printed it"}
	}
	return t, nil
}

func (t Token) String() string { return fmt.Sprintf("%d@%s", t.N, t.Grantor) }

// MarshalText gives the text form.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the text form.
func (t *Token) UnmarshalText(b []byte) error {
	got, err := ParseToken(string(b))
	if err == nil {
		*t = got
	}
	return err
}

func (t Token) valid() bool {
	return t.N > 0 && len(t.Grantor) == idLen && strings.Trim(t.Grantor, "0123456789abcdef") == ""
}
