package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func TestALoadIsAskedForByItsName(t *testing.T) {
	client := []string{"TESTCASE=perf", "QUICLAB_PERF_REQUEST=100", "QUICLAB_PERF_RESPONSE=1000"}
	asked := func(more ...string) (*settings, error) { return parse(append(client[:3:3], more...)...) }
	if settings, err := asked(); err != nil || settings.perfLoad != loadBulk {
		t.Errorf("found %+v, %v", settings, err)
	}
	const duration, path = "QUICLAB_PERF_DURATION=250", "QUICLAB_PERF_LATENCIES=/l"
	for _, load := range perfLoads {
		more := []string{"QUICLAB_PERF_LOAD=" + string(load), duration}
		if load == loadPeriodic {
			more = append(more, "QUICLAB_PERF_PERIOD=33333")
		}
		settings, err := asked(more...)
		if err != nil || settings.perfLoad != load {
			t.Errorf("%s: found %+v, %v", load, settings, err)
		}
	}
	if _, err := asked("QUICLAB_PERF_LOAD=floods", duration); !errors.Is(err, errNotSupported) {
		t.Errorf("found %v, expected not supported", err)
	}
	if _, err := asked(duration, path); err == nil || errors.Is(err, errNotSupported) {
		t.Errorf("found %v, expected a failure", err)
	}
	for _, one := range []string{"QUICLAB_PERF_LOAD=bulk", path} {
		for _, changes := range [][]string{{one}, {"TESTCASE=perf", "ROLE=server", one}} {
			if _, err := parse(changes...); !errors.Is(err, errNotSupported) {
				t.Errorf("%v: found %v, expected not supported", changes, err)
			}
		}
	}
}

func TestALoadWithLatenciesNeedsATime(t *testing.T) {
	for _, load := range perfLoads {
		if load == loadPeriodic {
			continue
		}
		_, err := parse("TESTCASE=perf", "QUICLAB_PERF_REQUEST=8", "QUICLAB_PERF_RESPONSE=0", "QUICLAB_PERF_LOAD="+string(load))
		if (err != nil) != load.hasLatencies() {
			t.Errorf("%s: found %v", load, err)
		}
	}
}

func TestAScheduleNeedsItsPeriodAndNothingElse(t *testing.T) {
	const load, period, path = "QUICLAB_PERF_LOAD=periodic", "QUICLAB_PERF_PERIOD=33333", "QUICLAB_PERF_LATENCIES=/l"
	client := []string{"TESTCASE=perf", "QUICLAB_PERF_REQUEST=8", "QUICLAB_PERF_RESPONSE=0"}
	asked := func(more ...string) (*settings, error) { return parse(append(client[:3:3], more...)...) }
	settings, err := asked(load, period, path)
	if err != nil || settings.perfPeriod != 33_333*time.Microsecond || settings.perfLatencies != "/l" {
		t.Errorf("found %+v, %v", settings, err)
	}
	for _, more := range [][]string{{load}, {period}, {load, "QUICLAB_PERF_PERIOD=0"}, {load, "QUICLAB_PERF_PERIOD=33.3"}, {load, period, "QUICLAB_STREAMS=2"}} {
		if _, err := asked(more...); err == nil || errors.Is(err, errNotSupported) {
			t.Errorf("%v: found %v, expected a failure", more, err)
		}
	}
	if _, err := parse(period); !errors.Is(err, errNotSupported) {
		t.Errorf("found %v, expected not supported", err)
	}
}

func TestExchangesOfAScheduleDoNotWaitForEachOther(t *testing.T) {
	const count = 5
	settings := &settings{
		perfLoad: loadPeriodic, perfPeriod: time.Millisecond, streams: 2 * count, perf: &perfSizes{8, 0}, requests: make([]*url.URL, count),
	}
	var lock sync.Mutex
	var began []time.Time
	all := make(chan struct{})
	start := time.Now()
	err := runPerf(settings, func(*perfSizes) (time.Time, error) {
		now := time.Now()
		lock.Lock()
		began = append(began, now)
		if len(began) == count {
			close(all)
		}
		lock.Unlock()
		// None is complete before the last one has begun.
		<-all
		return now, nil
	}, func() {})
	if err != nil || len(began) != count {
		t.Fatalf("found %v, %v", began, err)
	}
	for number, one := range began {
		if due := start.Add(time.Duration(number) * time.Millisecond); one.Before(due) {
			t.Errorf("%d: found %v, expected at least %v", number, one, due)
		}
	}
}

func TestTwoStreamsCarryWhatOneDoes(t *testing.T) {
	if found := (perfSizes{100, 1000}).apart(); found != [2]perfSizes{{100, 0}, {8, 1000}} {
		t.Errorf("found %v", found)
	}
}

func TestLatenciesAreReadByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	latencies := latencies{histogram: hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), 3)}
	now := time.Now()
	for _, began := range []time.Time{now, now.Add(-time.Second), now.Add(-9 * time.Hour)} {
		latencies.since(began)
	}
	if err := latencies.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := hdrhistogram.Decode([]byte(strings.TrimSpace(string(text))))
	if err != nil || found.TotalCount() != 3 {
		t.Fatalf("found %v, %v", found, err)
	}
	if second := time.Duration(found.ValueAtQuantile(50)); second < time.Second-time.Millisecond {
		t.Errorf("found %v, expected at least a second", second)
	}
	if hour := time.Duration(found.Max()); hour < time.Hour-4*time.Second || hour > time.Hour+4*time.Second {
		t.Errorf("found %v, expected an hour", hour)
	}
	if err := latencies.write(""); err != nil {
		t.Error(err)
	}
	if err := latencies.write(filepath.Join(path, "no")); err == nil {
		t.Error("found no error")
	}
}

func TestAsManyRunAtATimeAsSettingsSay(t *testing.T) {
	var running, most, calls atomic.Int32
	err := concurrently(&settings{streams: 3}, 20, func(int) error {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(time.Millisecond)
		running.Add(-1)
		calls.Add(1)
		return nil
	}, func() {})
	if err != nil || calls.Load() != 20 || most.Load() > 3 {
		t.Errorf("found %v, %d calls, %d at a time", err, calls.Load(), most.Load())
	}
}

func TestTheEndOfTheTimeIsAGoodEndAndAnErrorIsNot(t *testing.T) {
	ended := make(chan struct{})
	untilEnd := func(int) error {
		<-ended
		return errors.New("closed")
	}
	limited := &settings{streams: 2, perfDuration: 20 * time.Millisecond}
	if err := concurrently(limited, 4, untilEnd, func() { close(ended) }); err != nil {
		t.Error(err)
	}
	ended = make(chan struct{})
	long := &settings{streams: 2, perfDuration: time.Hour}
	oneFails := func(number int) error {
		if number == 1 {
			return errors.New("broken")
		}
		return untilEnd(number)
	}
	if err := concurrently(long, 2, oneFails, func() { close(ended) }); err == nil || err.Error() != "broken" {
		t.Errorf("found %v", err)
	}
}
