//go:build !linux

package fence

import "time"

type processClock struct {
	start time.Time
	era   string
}

func realClock() (Clock, error) {
	return processClock{start: time.Now(), era: "process " + randomID()}, nil
}

func (c processClock) Now() time.Duration { return time.Since(c.start) }
func (c processClock) Era() string        { return c.era }
