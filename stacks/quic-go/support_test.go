package main

import (
	"errors"
	"testing"
)

func TestWhatThisLibraryCannotDoIsRefused(t *testing.T) {
	for _, changes := range [][]string{
		{"QUICLAB_CCA=cubic"},
		{"QUICLAB_PACING=off"},
		{"QUICLAB_PACING=txtime"},
		{"TESTCASE=http3", "QUICLAB_HTTP=hq"},
		{"ROLE=server", "TESTCASE=v2"},
	} {
		if _, err := parse(changes...); !errors.Is(err, errNotSupported) {
			t.Errorf("%v: found %v, expected not supported", changes, err)
		}
	}
}

func TestAPlainTransferUsesOffloadAndHTTP3(t *testing.T) {
	settings, err := parse()
	if err != nil || !settings.gso || settings.http != "h3" {
		t.Errorf("found %+v, %v", settings, err)
	}
}
