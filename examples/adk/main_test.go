package main

import (
	"testing"

	"github.com/eino-toolresult/toolresult/examples/internal/demo/demotest"
)

func TestRun(t *testing.T) { demotest.Run(t, run) }
