package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// errNotSupported marks a request that is well-formed, but not something this endpoint can do: exit status 127.
var errNotSupported = errors.New("not supported")

// settings is everything this endpoint was asked to do. If the value exists, it can be done.
type settings struct {
	// server or client.
	role string
	// What the client fetches, all from one host. Empty for a server, never empty for a client.
	requests []*url.URL
	// Folder the server answers from.
	www string
	// Folder the client stores bodies in, each under the last part of its URL's path.
	downloads string
	// Folder of cert.pem (leaf first), priv.key and ca.pem.
	certs string
	// Where TLS secrets are appended; empty: nowhere.
	keyLog string
	// True: packets of one batch leave in one system call, cut apart by the kernel (UDP_SEGMENT).
	gso bool
	// UDP port the server listens on.
	port int
}

// choices are the values of a setting that this endpoint can honour; the first one is used where nothing is asked.
var choices = map[string][]string{
	"QUICLAB_CCA":    {"cubic"},
	"QUICLAB_GSO":    {"on", "off"},
	"QUICLAB_HTTP":   {"h3"},
	"QUICLAB_PACING": {"user"},
}

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
	refuse := func(name, supported string) error {
		return fmt.Errorf("%s: found %q, this endpoint supports %s: %w", name, variables[name], supported, errNotSupported)
	}

	if variables["TESTCASE"] != "transfer" {
		return nil, refuse("TESTCASE", "transfer")
	}
	// In order of name, so that the same environment always gets the same answer.
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		found := variables[name]
		allowed, known := choices[name]
		switch {
		case known && !slices.Contains(allowed, found):
			return nil, refuse(name, strings.Join(allowed, ", "))
		case !known && strings.HasPrefix(name, "QUICLAB_") && name != "QUICLAB_PORT":
			return nil, refuse(name, "no such setting")
		case (name == "SERVER_PARAMS" || name == "CLIENT_PARAMS") && found != "":
			return nil, refuse(name, "no parameters")
		}
	}

	role := variables["ROLE"]
	if role != "server" && role != "client" {
		return nil, fmt.Errorf("ROLE: found %q, expected server or client", role)
	}
	port, err := strconv.ParseUint(value("QUICLAB_PORT", "443"), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("QUICLAB_PORT: found %q, expected a port, 0 to 65535", variables["QUICLAB_PORT"])
	}
	var requests []*url.URL
	if role == "client" {
		if requests, err = parseRequests(variables["REQUESTS"]); err != nil {
			return nil, err
		}
	}
	return &settings{
		role:      role,
		requests:  requests,
		www:       value("WWW", "/www"),
		downloads: value("DOWNLOADS", "/downloads"),
		certs:     value("CERTS", "/certs"),
		keyLog:    variables["SSLKEYLOGFILE"],
		gso:       value("QUICLAB_GSO", choices["QUICLAB_GSO"][0]) == "on",
		port:      int(port),
	}, nil
}

func parseRequests(text string) ([]*url.URL, error) {
	var requests []*url.URL
	for _, field := range strings.Fields(text) {
		request, err := url.Parse(field)
		if err != nil || request.Scheme != "https" || request.Hostname() == "" || strings.HasSuffix(request.Path, "/") || request.Path == "" {
			return nil, fmt.Errorf("REQUESTS: found %q, expected https://HOST[:PORT]/FILE", field)
		}
		if port := request.Port(); port != "" {
			if _, err := strconv.ParseUint(port, 10, 16); err != nil {
				return nil, fmt.Errorf("REQUESTS: found port %q, expected 0 to 65535", port)
			}
		}
		requests = append(requests, request)
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("REQUESTS: found %q, expected at least one URL", text)
	}
	for _, request := range requests {
		if request.Host != requests[0].Host {
			return nil, fmt.Errorf("REQUESTS: found host %q, expected the same host and port in every URL", request.Host)
		}
	}
	return requests, nil
}

// fileName is the name that the body of request is stored under.
func fileName(request *url.URL) string {
	return path.Base(request.Path)
}

// address is host and port of request.
func address(request *url.URL) string {
	if request.Port() == "" {
		return request.Host + ":443"
	}
	return request.Host
}
