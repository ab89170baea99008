package main

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// parseRequests reads URLs with spaces between them, at least one, all of one host and port.
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

// longestRequest is more than any request of HTTP/0.9 in the contract has, in bytes.
const longestRequest = 8 << 10

// parseRequest is the path that a request of HTTP/0.9 asks for, decoded.
func parseRequest(request string) (string, error) {
	target, ok := strings.CutPrefix(strings.TrimRight(request, "\r\n "), "GET ")
	if !ok || !strings.HasPrefix(target, "/") {
		return "", fmt.Errorf("found request %q, expected GET /FILE", request)
	}
	return url.PathUnescape(target)
}
