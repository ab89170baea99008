package main

import (
	"errors"
	"testing"
	"time"
)

// parse reads a plain client's environment with changes, each NAME=VALUE.
func parse(changes ...string) (*settings, error) {
	environment := []string{"ROLE=client", "TESTCASE=transfer", "REQUESTS=https://server:4433/file10M"}
	return parseSettings(append(environment, changes...))
}

func TestAPlainTransferNeedsNoSettings(t *testing.T) {
	settings, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	if settings.port != 443 || settings.www != "/www" || settings.keyLog != "" {
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

func TestEveryDeclaredTestCaseIsHonoured(t *testing.T) {
	for role, cases := range testCases {
		for _, testCase := range cases {
			changes := []string{"ROLE=" + role, "TESTCASE=" + testCase, "REQUESTS=https://server/a https://server/b"}
			if role == "client" && testCase == "perf" {
				changes = append(changes, "QUICLAB_PERF_REQUEST=8", "QUICLAB_PERF_RESPONSE=0")
			}
			if _, err := parse(changes...); err != nil {
				t.Errorf("%s as %s: %v", testCase, role, err)
			}
		}
	}
}

func TestNumbersAndTheIPVersionAreRead(t *testing.T) {
	settings, err := parse("QUICLAB_STREAMS=4", "QUICLAB_CERT_DELAY=200", "QUICLAB_IP=6", "QUICLAB_HTTP=hq")
	if err != nil {
		t.Fatal(err)
	}
	if settings.streams != 4 || settings.certificateDelay != 200*time.Millisecond || settings.network != "udp6" || settings.http != "hq" {
		t.Errorf("found %+v", settings)
	}
}

func TestARequestOfHTTP09NamesAFile(t *testing.T) {
	for request, expected := range map[string]string{"GET /a/b%20c\r\n": "/a/b c", "GET /a": "/a"} {
		if found, err := parseRequest(request); err != nil || found != expected {
			t.Errorf("%q: found %q, %v", request, found, err)
		}
	}
	for _, request := range []string{"", "GET", "GET a\r\n", "POST /a\r\n", "GET /%zz\r\n"} {
		if found, err := parseRequest(request); err == nil {
			t.Errorf("%q: found %q, expected an error", request, found)
		}
	}
}

func TestWhatItCannotDoIsRefusedAndNotIgnored(t *testing.T) {
	for _, change := range []string{
		"TESTCASE=nonsense",
		"TESTCASE=",
		"QUICLAB_CCA=nonsense",
		"QUICLAB_CCA=",
		"QUICLAB_GSO=paced",
		"QUICLAB_HTTP=h2",
		"QUICLAB_IP=5",
		"QUICLAB_NO_SUCH_SETTING=1",
		"SERVER_PARAMS=--anything",
	} {
		if _, err := parse(change); !errors.Is(err, errNotSupported) {
			t.Errorf("%s: found %v, expected not supported", change, err)
		}
	}
}

func TestATestCaseOfTheOtherRoleIsRefused(t *testing.T) {
	if _, err := parse("ROLE=server", "TESTCASE=keyupdate"); !errors.Is(err, errNotSupported) {
		t.Errorf("found %v, expected not supported", err)
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
		"QUICLAB_STREAMS=0",
		"QUICLAB_STREAMS=many",
		"QUICLAB_CERT_DELAY=-1",
		"TESTCASE=resumption",
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
