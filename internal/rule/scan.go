package rule

import (
	"fmt"
	"strings"
)

// SyntaxError says where a text is not a rule, and what was expected there.
type SyntaxError struct {
	Pos
	Text string // the flag, where Pos names no file
	Msg  string
}

func (e *SyntaxError) Error() string {
	if e.File != "" {
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
	}
	return fmt.Sprintf("rule %q: col %d: %s", e.Text, e.Col, e.Msg)
}

// word is one word of a rule with its quotes taken off.
type word struct {
	text string
	Pos
}

// line is the words of one rule, and the place just behind them.
type line struct {
	words []word
	end   Pos
}

// scanner splits a text into words as testscript does: single quotes keep what
// they hold, a quote doubled within is itself, and "#" outside of them starts a
// comment. Unlike there, a newline may stand between quotes, for a file's name
// may hold one.
type scanner struct {
	text string
	at   int
	Pos
}

// scan returns the lines of text that hold words.
func scan(file, text string) ([]line, error) {
	s := &scanner{text: text, Pos: Pos{File: file, Line: 1, Col: 1}}
	var lines []line
	for s.at < len(s.text) {
		l, err := s.line()
		if err != nil {
			return nil, err
		}
		if len(l.words) > 0 {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

func (s *scanner) line() (line, error) {
	l := line{end: s.Pos}
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\n':
			s.advance()
			return l, nil
		case c == '#':
			s.skipComment()
		case isBlank(c):
			s.advance()
		default:
			w, err := s.word()
			if err != nil {
				return l, err
			}
			l.words = append(l.words, w)
			l.end = s.Pos
		}
	}
	return l, nil
}

func (s *scanner) word() (word, error) {
	w := word{Pos: s.Pos}
	var b strings.Builder
	for s.at < len(s.text) && !endsWord(s.text[s.at]) {
		if s.text[s.at] != '\'' {
			b.WriteByte(s.advance())
			continue
		}
		if err := s.quoted(&b); err != nil {
			return w, err
		}
	}
	w.text = b.String()
	return w, nil
}

// quoted adds to b what stands between the quote at s and the next single one.
func (s *scanner) quoted(b *strings.Builder) error {
	start := s.Pos
	s.advance()
	for s.at < len(s.text) {
		if s.text[s.at] != '\'' {
			b.WriteByte(s.advance())
			continue
		}
		s.advance()
		if s.at == len(s.text) || s.text[s.at] != '\'' {
			return nil
		}
		b.WriteByte(s.advance())
	}
	return &SyntaxError{Pos: start, Text: s.text, Msg: "this quote is never closed: expected another '"}
}

func (s *scanner) skipComment() {
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.advance()
	}
}

// advance passes one byte and returns it.
func (s *scanner) advance() byte {
	c := s.text[s.at]
	s.at++
	s.Col++
	if c == '\n' {
		s.Line, s.Col = s.Line+1, 1
	}
	return c
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func endsWord(c byte) bool { return isBlank(c) || c == '\n' || c == '#' }
