package faultlab_test

import (
	"testing"

	"faultlab"
)

func TestMain(m *testing.M) {
	faultlab.Main(m, nil, "./cmd/worker", "./cmd/coordinator", "./testdata/subjects/subject")
}

func TestScripts(t *testing.T) { faultlab.Run(t, "testdata/script") }
