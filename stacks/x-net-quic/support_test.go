package main

import (
	"errors"
	"testing"
)

func TestWhatThisLibraryCannotDoIsRefused(t *testing.T) {
	for _, changes := range [][]string{
		{"QUICLAB_CCA=cubic"},
		{"QUICLAB_GSO=on"},
		{"QUICLAB_HTTP=h3"},
		{"QUICLAB_PACING=off"},
		{"TESTCASE=zerortt"},
		{"ROLE=server", "TESTCASE=resumption"},
	} {
		if _, err := parse(changes...); !errors.Is(err, errNotSupported) {
			t.Errorf("%v: found %v, expected not supported", changes, err)
		}
	}
}
