// The endpoint contract, for endpoints in Go: each of them has these files by links in its own folder, and says in choices and
// testCases what it can do.
package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNotSupported marks a request that is well-formed, but not something this endpoint can do: exit status 127.
var errNotSupported = errors.New("not supported")

// settings is everything this endpoint was asked to do. If the value exists, it can be done.
type settings struct {
	// server or client.
	role string
	// What is to happen: one of testCases of this role.
	testCase string
	// What the client fetches, all from one host. Empty for a server, never empty for a client.
	requests []*url.URL
	// What the client of perf sends and asks for on each stream, which are as many as requests; nil in other test cases, and for a server.
	perf *perfSizes
	// How long the client of perf goes on, from the handshake; 0: until every response is there.
	perfDuration time.Duration
	// What the client of perf does; loadBulk in other test cases, and for a server.
	perfLoad perfLoad
	// Time from the beginning of an exchange to that of the next one with loadPeriodic, 0 with every other load.
	perfPeriod time.Duration
	// File that its latencies are written to at the end; empty: none.
	perfLatencies string
	// Where it is written down how far perf has come; nil: nowhere.
	perfProgress *perfProgress
	// Folder the server answers from.
	www string
	// Folder the client stores bodies in, each under the last part of its URL's path.
	downloads string
	// Folder of cert.pem (leaf first), priv.key and ca.pem.
	certs string
	// Where TLS secrets are appended; empty: nowhere.
	keyLog string
	// Folder for qlog files; empty: none are written.
	qlogDir string
	// True: packets of one batch leave in one system call, cut apart by the kernel (UDP_SEGMENT).
	gso bool
	// h3 or hq.
	http string
	// udp4 or udp6, as package net names them.
	network string
	// Most requests that are open at the same time, at least 1; no less than there are where nothing is asked.
	streams int
	// How long the server's certificate takes to come.
	certificateDelay time.Duration
	// All that the client offers, one of groups; empty: what crypto/tls offers.
	keyExchange string
	// UDP port the server listens on.
	port int
}

// numbers are the settings that are no choice, by their largest value.
var numbers = map[string]uint64{
	"QUICLAB_CERT_DELAY":    3_600_000,
	"QUICLAB_PERF_DURATION": 86_400_000,
	"QUICLAB_PERF_INTERVAL": 60_000,
	"QUICLAB_PERF_PERIOD":   math.MaxUint32,
	"QUICLAB_PERF_REQUEST":  math.MaxUint64,
	"QUICLAB_PERF_RESPONSE": math.MaxUint64,
	"QUICLAB_PORT":          65535,
	"QUICLAB_STREAMS":       1 << 31,
}

// others are the settings that are neither.
var others = []string{"QUICLAB_PERF_LATENCIES", "QUICLAB_PERF_LOAD", "QUICLAB_PERF_PROGRESS"}

// parseSettings reads the endpoint contract from an environment as os.Environ returns it. An error that is errNotSupported
// means exit status 127, any other one exit status 1.
func parseSettings(environment []string) (*settings, error) {
	variables := make(map[string]string)
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	value := func(name, unset string) string {
		if found, ok := variables[name]; ok {
			return found
		}
		return unset
	}
	if err := refuseUnsupported(variables); err != nil {
		return nil, err
	}
	role := variables["ROLE"]
	if role != "server" && role != "client" {
		return nil, fmt.Errorf("ROLE: found %q, expected server or client", role)
	}
	var requests []*url.URL
	if role == "client" {
		var err error
		if requests, err = parseRequests(variables["REQUESTS"]); err != nil {
			return nil, err
		}
		if testCase := variables["TESTCASE"]; len(requests) < 2 && (testCase == "resumption" || testCase == "zerortt") {
			return nil, fmt.Errorf("REQUESTS: found one URL, expected one for each of the two connections of %s", testCase)
		}
	}
	port, err := parseNumber(variables, "QUICLAB_PORT", 443)
	if err != nil {
		return nil, err
	}
	milliseconds, err := parseNumber(variables, "QUICLAB_CERT_DELAY", 0)
	if err != nil {
		return nil, err
	}
	// Twice, as one load of perf has two streams for each URL.
	streams, err := parseNumber(variables, "QUICLAB_STREAMS", max(2*len(requests), 1))
	if err != nil {
		return nil, err
	}
	if streams == 0 {
		return nil, errors.New("QUICLAB_STREAMS: found 0, expected at least 1")
	}
	perf, err := perfSizesOf(variables)
	if err != nil {
		return nil, err
	}
	perfDuration, err := perfDurationOf(variables)
	if err != nil {
		return nil, err
	}
	perfLoad, perfLatencies, err := perfLoadOf(variables, perfDuration)
	if err != nil {
		return nil, err
	}
	perfPeriod, err := perfPeriodOf(variables, perfLoad)
	if err != nil {
		return nil, err
	}
	perfProgress, err := perfProgressOf(variables)
	if err != nil {
		return nil, err
	}
	return &settings{
		role:             role,
		testCase:         variables["TESTCASE"],
		requests:         requests,
		perf:             perf,
		perfDuration:     perfDuration,
		perfLoad:         perfLoad,
		perfPeriod:       perfPeriod,
		perfLatencies:    perfLatencies,
		perfProgress:     perfProgress,
		www:              value("WWW", "/www"),
		downloads:        value("DOWNLOADS", "/downloads"),
		certs:            value("CERTS", "/certs"),
		keyLog:           variables["SSLKEYLOGFILE"],
		qlogDir:          variables["QLOGDIR"],
		gso:              value("QUICLAB_GSO", choices["QUICLAB_GSO"][0]) == "on",
		http:             value("QUICLAB_HTTP", choices["QUICLAB_HTTP"][0]),
		network:          "udp" + value("QUICLAB_IP", choices["QUICLAB_IP"][0]),
		streams:          streams,
		certificateDelay: time.Duration(milliseconds) * time.Millisecond,
		keyExchange:      variables["QUICLAB_KEY_EXCHANGE"],
		port:             port,
	}, nil
}

// refuseUnsupported returns an errNotSupported for the first variable, in order of name so that the same environment always
// gets the same answer, that asks for what this endpoint cannot do.
func refuseUnsupported(variables map[string]string) error {
	refuse := func(name, supported string) error {
		return fmt.Errorf("%s: found %q, this endpoint supports %s: %w", name, variables[name], supported, errNotSupported)
	}
	testCase := variables["TESTCASE"]
	supported, ok := testCases[variables["ROLE"]]
	if !ok {
		// Without a role, whatever one of them can do; the role's own message comes later.
		supported = testCases["client"]
	}
	if !slices.Contains(supported, testCase) {
		return refuse("TESTCASE", strings.Join(supported, ", "))
	}
	if testCase == "http3" && variables["QUICLAB_HTTP"] == "hq" {
		return refuse("QUICLAB_HTTP", "h3 beside TESTCASE=http3")
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		found := variables[name]
		allowed, isChoice := choices[name]
		_, isNumber := numbers[name]
		switch {
		case isChoice && !slices.Contains(allowed, found):
			return refuse(name, strings.Join(allowed, ", "))
		case !isChoice && !isNumber && !slices.Contains(others, name) && strings.HasPrefix(name, "QUICLAB_"):
			return refuse(name, "no such setting")
		case (name == "SERVER_PARAMS" || name == "CLIENT_PARAMS") && found != "":
			return refuse(name, "no parameters")
		}
	}
	return nil
}

// parseSize reads one of numbers that is a number of bytes.
func parseSize(name, found string) (uint64, error) {
	number, err := strconv.ParseUint(found, 10, 64)
	if err != nil || number > numbers[name] {
		return 0, fmt.Errorf("%s: found %q, expected a whole number up to %d", name, found, numbers[name])
	}
	return number, nil
}

// parseNumber reads one of numbers.
func parseNumber(variables map[string]string, name string, unset int) (int, error) {
	found, ok := variables[name]
	if !ok {
		return unset, nil
	}
	number, err := strconv.ParseUint(found, 10, 32)
	if err != nil || number > numbers[name] {
		return 0, fmt.Errorf("%s: found %q, expected a whole number up to %d", name, found, numbers[name])
	}
	return int(number), nil
}
