package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// perfCounters are what this process has carried so far, over all its connections: docs/reference/endpoint-contract.md.
var perfCounters struct {
	sent, received, exchanges, connections atomic.Uint64
	// What the newest connection knows of its path; nil: nothing.
	path atomic.Pointer[func() perfPath]
}

// perfPath is what a stack knows of a connection's path.
type perfPath struct {
	// Smoothed.
	rtt time.Duration
	// Of congestion control, in bytes.
	window uint64
	// Packets declared lost so far.
	lost uint64
}

// perfConnected counts a connection whose handshake is complete; path can be nil.
func perfConnected(path func() perfPath) {
	perfCounters.connections.Add(1)
	if path != nil {
		perfCounters.path.Store(&path)
	}
}

// perfLine is a line of progress.
func perfLine(sinceStart time.Duration) string {
	path := `"rtt_ns":null,"window":null,"lost":null`
	if known := perfCounters.path.Load(); known != nil {
		found := (*known)()
		path = fmt.Sprintf(`"rtt_ns":%d,"window":%d,"lost":%d`, found.rtt.Nanoseconds(), found.window, found.lost)
	}
	return fmt.Sprintf(`{"monotonic_ns":%d,"sent":%d,"received":%d,"exchanges":%d,"connections":%d,%s}`+"\n", sinceStart.Nanoseconds(),
		perfCounters.sent.Load(), perfCounters.received.Load(), perfCounters.exchanges.Load(), perfCounters.connections.Load(), path)
}

// perfProgress is where lines go, and how often.
type perfProgress struct {
	path     string
	interval time.Duration
}

// report writes lines until the function that it returns is called, which writes the last one.
func (p *perfProgress) report() (func(), error) {
	if p == nil {
		return func() {}, nil
	}
	file, err := os.OpenFile(p.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("QUICLAB_PERF_PROGRESS: %w", err)
	}
	start := time.Now()
	// The first line comes before the first byte.
	if _, err := file.WriteString(perfLine(0)); err != nil {
		return nil, fmt.Errorf("QUICLAB_PERF_PROGRESS: %w", err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer file.Close()
		ticker := time.NewTicker(p.interval)
		defer ticker.Stop()
		for {
			goesOn := true
			select {
			case <-ticker.C:
			case <-stop:
				goesOn = false
			}
			if _, err := file.WriteString(perfLine(time.Since(start))); err != nil || !goesOn {
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}, nil
}

// perfProgressOf is where progress is written; nil: nowhere.
func perfProgressOf(variables map[string]string) (*perfProgress, error) {
	const path, interval = "QUICLAB_PERF_PROGRESS", "QUICLAB_PERF_INTERVAL"
	if err := onlyWithPerf(variables, variables["TESTCASE"] == "perf", "TESTCASE=perf", path, interval); err != nil {
		return nil, err
	}
	milliseconds := 1000
	if found, ok := variables[interval]; ok {
		number, err := strconv.Atoi(found)
		if err != nil || number < 10 || number > 60_000 || variables[path] == "" {
			return nil, fmt.Errorf("%s: found %q, expected milliseconds, 10 to 60000, together with %s", interval, found, path)
		}
		milliseconds = number
	}
	if variables[path] == "" {
		return nil, nil
	}
	return &perfProgress{variables[path], time.Duration(milliseconds) * time.Millisecond}, nil
}

// perfDurationOf is how long a client goes on; 0: until every response is there.
func perfDurationOf(variables map[string]string) (time.Duration, error) {
	const name = "QUICLAB_PERF_DURATION"
	isClient := variables["TESTCASE"] == "perf" && variables["ROLE"] == "client"
	if err := onlyWithPerf(variables, isClient, "a client with TESTCASE=perf", name); err != nil {
		return 0, err
	}
	milliseconds, err := parseNumber(variables, name, -1)
	if err == nil && milliseconds == 0 {
		err = errors.New(name + ": found 0, expected at least 1")
	}
	return max(time.Duration(milliseconds), 0) * time.Millisecond, err
}

// onlyWithPerf refuses names where they are set and may not be.
func onlyWithPerf(variables map[string]string, allowed bool, with string, names ...string) error {
	for _, name := range names {
		if found, ok := variables[name]; ok && !allowed {
			return fmt.Errorf("%s: found %q, this endpoint supports it for %s: %w", name, found, with, errNotSupported)
		}
	}
	return nil
}
