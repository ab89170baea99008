package main

import (
	"errors"
	"testing"
)

// parse reads a plain client's environment with changes, each NAME=VALUE.
func parse(changes ...string) (*settings, error) {
	environment := []string{"ROLE=client", "TESTCASE=transfer", "REQUESTS=https://server:4433/file10M"}
	return parseSettings(append(environment, changes...))
}

func TestAPlainTransferUsesOffload(t *testing.T) {
	settings, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	if !settings.gso || settings.port != 443 || settings.www != "/www" || settings.keyLog != "" {
		t.Errorf("found %+v", settings)
	}
}

func TestEveryDeclaredSettingIsHonoured(t *testing.T) {
	for name, allowed := range choices {
		for _, value := range allowed {
			if _, err := parse(name + "=" + value); err != nil {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
	if settings, err := parse("QUICLAB_GSO=off", "QUICLAB_PORT=4433"); err != nil || settings.gso || settings.port != 4433 {
		t.Errorf("found %+v, %v", settings, err)
	}
}

func TestWhatItCannotDoIsRefusedAndNotIgnored(t *testing.T) {
	for _, change := range []string{
		"TESTCASE=handshake",
		"TESTCASE=",
		"QUICLAB_CCA=reno",
		"QUICLAB_CCA=CUBIC",
		"QUICLAB_CCA=",
		"QUICLAB_GSO=paced",
		"QUICLAB_PACING=off",
		"QUICLAB_PACING=txtime",
		"QUICLAB_HTTP=hq",
		"QUICLAB_STREAMS=4",
		"SERVER_PARAMS=--anything",
	} {
		if _, err := parse(change); !errors.Is(err, errNotSupported) {
			t.Errorf("%s: found %v, expected not supported", change, err)
		}
	}
}

func TestWhatItCannotReadIsAFailure(t *testing.T) {
	for _, change := range []string{
		"ROLE=observer",
		"REQUESTS=",
		"REQUESTS=http://server/file",
		"REQUESTS=https://server:4433/",
		"REQUESTS=https://server:70000/file",
		"REQUESTS=https://server/a https://other/b",
		"QUICLAB_PORT=65536",
	} {
		if _, err := parse(change); err == nil || errors.Is(err, errNotSupported) {
			t.Errorf("%s: found %v, expected a failure", change, err)
		}
	}
}

func TestAURLNamesTheFileItIsStoredAs(t *testing.T) {
	settings, err := parse("REQUESTS=https://server/a/b https://server/c")
	if err != nil {
		t.Fatal(err)
	}
	first, second := settings.requests[0], settings.requests[1]
	if fileName(first) != "b" || fileName(second) != "c" || address(first) != "server:443" {
		t.Errorf("found %s %s %s", fileName(first), fileName(second), address(first))
	}
}
