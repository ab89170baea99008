package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// perfLoad is what a client of perf does: QUICLAB_PERF_LOAD. Which of them an endpoint has is in its perfLoads.
type perfLoad string

const (
	// A stream for each URL, all at the same time.
	loadBulk perfLoad = "bulk"
	// Two streams for each URL, all at the same time: one for each direction.
	loadBidirectional perfLoad = "bidirectional"
	// One exchange per URL at a time, all on one connection. When one is complete, the next begins, until the time is over.
	loadRequests perfLoad = "requests"
	// One exchange per URL, all on one connection. Each begins a fixed time after the one before began, whether that is complete or not.
	loadPeriodic perfLoad = "periodic"
	// One connection per URL at a time. When one is closed, the next begins, until the time is over. None resumes a session.
	loadHandshakes perfLoad = "handshakes"
)

// hasLatencies is true where it is to be known how long each one took.
func (l perfLoad) hasLatencies() bool {
	return l == loadRequests || l == loadPeriodic || l == loadHandshakes
}

// needsDuration is true where only the end of the time ends it.
func (l perfLoad) needsDuration() bool {
	return l == loadRequests || l == loadHandshakes
}

// perfSmallest is the smallest exchange there is.
var perfSmallest = perfSizes{perfHead, 0}

// apart returns the two streams that together carry what one of loadBulk does: one has all of the request, the other all of the response.
func (s perfSizes) apart() [2]perfSizes {
	return [2]perfSizes{{s.request, 0}, {perfHead, s.response}}
}

// perfLatencies are those of this process, in nanoseconds: differences of less than a microsecond are not kept, and more than an hour
// counts as an hour.
var perfLatencies = latencies{histogram: hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), 3)}

type latencies struct {
	mutex     sync.Mutex
	histogram *hdrhistogram.Histogram
}

// since keeps that one took as long as from began until now.
func (l *latencies) since(began time.Time) {
	took := min(time.Since(began), time.Hour)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	// It is between the bounds.
	_ = l.histogram.RecordValue(int64(took))
}

// write puts all into a file, as base64 of the compressed serialisation of HdrHistogram, version 2. An empty path is no file.
func (l *latencies) write(path string) error {
	if path == "" {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	text, err := l.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("QUICLAB_PERF_LATENCIES: %w", err)
	}
	return nil
}

// perfLoadOf is what a client of perf is asked to do, and where its latencies go; an empty path is nowhere.
func perfLoadOf(variables map[string]string, duration time.Duration) (perfLoad, string, error) {
	const load, path = "QUICLAB_PERF_LOAD", "QUICLAB_PERF_LATENCIES"
	isClient := variables["TESTCASE"] == "perf" && variables["ROLE"] == "client"
	if err := onlyWithPerf(variables, isClient, "a client with TESTCASE=perf", load, path); err != nil {
		return loadBulk, "", err
	}
	chosen := loadBulk
	if found, ok := variables[load]; ok {
		chosen = perfLoad(found)
	}
	if !slices.Contains(perfLoads, chosen) {
		var names []string
		for _, one := range perfLoads {
			names = append(names, string(one))
		}
		return loadBulk, "", fmt.Errorf("%s: found %q, this endpoint supports %s: %w", load, chosen, strings.Join(names, ", "), errNotSupported)
	}
	if chosen.needsDuration() && duration == 0 {
		return loadBulk, "", fmt.Errorf("%s: found %q, expected QUICLAB_PERF_DURATION beside it", load, chosen)
	}
	if variables[path] != "" && !chosen.hasLatencies() {
		return loadBulk, "", fmt.Errorf("%s: found %q, expected nothing, but with %s=requests, periodic or handshakes", path, variables[path], load)
	}
	return chosen, variables[path], nil
}

// perfPeriodOf is the time from the beginning of an exchange to that of the next one; 0 with every load but loadPeriodic.
func perfPeriodOf(variables map[string]string, load perfLoad) (time.Duration, error) {
	const name = "QUICLAB_PERF_PERIOD"
	isClient := variables["TESTCASE"] == "perf" && variables["ROLE"] == "client"
	if err := onlyWithPerf(variables, isClient, "a client with TESTCASE=perf", name); err != nil {
		return 0, err
	}
	microseconds, err := parseNumber(variables, name, 0)
	if err != nil {
		return 0, err
	}
	if (microseconds > 0) != (load == loadPeriodic) {
		return 0, fmt.Errorf("%s: found %q, expected microseconds, at least 1, together with QUICLAB_PERF_LOAD=periodic", name, variables[name])
	}
	if _, ok := variables["QUICLAB_STREAMS"]; ok && load == loadPeriodic {
		return 0, fmt.Errorf("QUICLAB_STREAMS: found %q, expected nothing with QUICLAB_PERF_LOAD=periodic, which waits for no response", variables["QUICLAB_STREAMS"])
	}
	return time.Duration(microseconds) * time.Microsecond, nil
}

// runPerf carries the exchanges of one connection under a load other than loadHandshakes. exchange returns when its stream was there. end closes
// the connection, which ends what runs.
func runPerf(settings *settings, exchange func(*perfSizes) (time.Time, error), end func()) error {
	sizes := slices.Repeat([]perfSizes{*settings.perf}, len(settings.requests))
	if settings.perfLoad == loadBidirectional {
		apart := settings.perf.apart()
		sizes = slices.Repeat(apart[:], len(settings.requests))
	}
	start := time.Now()
	return concurrently(settings, len(sizes), func(number int) error {
		if settings.perfLoad == loadPeriodic {
			due := start.Add(time.Duration(number) * settings.perfPeriod)
			time.Sleep(time.Until(due))
			_, err := exchange(&sizes[number])
			if err == nil {
				perfLatencies.since(due)
			}
			return err
		}
		for {
			began, err := exchange(&sizes[number])
			if err != nil || settings.perfLoad != loadRequests {
				return err
			}
			perfLatencies.since(began)
		}
	}, end)
}

// concurrently calls one with each number below count, settings.streams of them at the same time, and returns the first error. When the time of
// settings is over, that is a good end: it calls end, upon which all that runs returns.
func concurrently(settings *settings, count int, one func(int) error, end func()) error {
	failures := make(chan error, count)
	places := make(chan struct{}, min(settings.streams, count))
	complete, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(complete)
		var running sync.WaitGroup
		defer running.Wait()
		for number := range count {
			select {
			case places <- struct{}{}:
			case <-over:
				return
			}
			running.Go(func() {
				if err := one(number); err != nil {
					failures <- err
				}
				<-places
			})
		}
	}()
	var limit <-chan time.Time
	if settings.perfDuration > 0 {
		limit = time.After(settings.perfDuration)
	}
	var failure error
	select {
	case failure = <-failures:
	case <-complete:
		select {
		case failure = <-failures:
		default:
		}
	case <-limit:
	}
	// What is counted does not change any more when this returns.
	close(over)
	end()
	<-complete
	return failure
}
