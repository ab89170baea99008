package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgressIsALineOfNumbersAndTheLastOneComesAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress")
	stop, err := (&perfProgress{path, 10 * time.Millisecond}).report()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeZeros(&strings.Builder{}, 3); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	perfConnected(func() perfPath { return perfPath{time.Microsecond, 5, 0} })
	stop()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var last map[string]*uint64
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) < 2 {
		t.Fatalf("found %q, %v", text, err)
	}
	if *last["sent"] < 3 || *last["rtt_ns"] != 1000 || *last["window"] != 5 || *last["lost"] != 0 || *last["connections"] < 1 {
		t.Errorf("found %q", lines[len(lines)-1])
	}
	if _, err := (&perfProgress{filepath.Join(path, "no"), time.Second}).report(); err == nil {
		t.Error("found no error")
	}
}

func TestATimeAndProgressBelongToPerf(t *testing.T) {
	perf := []string{"TESTCASE=perf", "QUICLAB_PERF_REQUEST=8", "QUICLAB_PERF_RESPONSE=0"}
	with := func(more ...string) []string { return append(append([]string{}, perf...), more...) }
	settings, err := parse(with("QUICLAB_PERF_DURATION=250", "QUICLAB_PERF_PROGRESS=/p", "QUICLAB_PERF_INTERVAL=50")...)
	if err != nil || settings.perfDuration != 250*time.Millisecond || *settings.perfProgress != (perfProgress{"/p", 50 * time.Millisecond}) {
		t.Errorf("found %+v, %v", settings, err)
	}
	if settings, err := parse(perf...); err != nil || settings.perfDuration != 0 || settings.perfProgress != nil {
		t.Errorf("found %+v, %v", settings, err)
	}
	for _, one := range []string{"QUICLAB_PERF_DURATION=0", "QUICLAB_PERF_INTERVAL=50", "QUICLAB_PERF_DURATION=x"} {
		if _, err := parse(with(one)...); err == nil || errors.Is(err, errNotSupported) {
			t.Errorf("%s: found %v, expected a failure", one, err)
		}
	}
	for _, one := range []string{"QUICLAB_PERF_DURATION=1", "QUICLAB_PERF_PROGRESS=/p", "QUICLAB_PERF_INTERVAL=50"} {
		if _, err := parse(one); !errors.Is(err, errNotSupported) {
			t.Errorf("%s without perf: found %v, expected not supported", one, err)
		}
	}
}
