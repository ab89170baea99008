package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestARequestIsAHeadAndZeros(t *testing.T) {
	for _, request := range []uint64{8, 9, perfChunk + 8, 3*perfChunk + 1} {
		var stream bytes.Buffer
		if err := writePerfRequest(&stream, &perfSizes{request, 0x0102030405060708}); err != nil {
			t.Fatal(err)
		}
		sent := stream.Bytes()
		if uint64(len(sent)) != request || !bytes.Equal(sent[:8], []byte{1, 2, 3, 4, 5, 6, 7, 8}) || bytes.Trim(sent[8:], "\x00") != nil {
			t.Errorf("%d bytes: found %d, beginning with %v", request, len(sent), sent[:8])
		}
		for _, reader := range []io.Reader{bytes.NewReader(sent), iotest.OneByteReader(bytes.NewReader(sent)), iotest.DataErrReader(bytes.NewReader(sent))} {
			if response, err := readPerfRequest(reader); err != nil || response != 0x0102030405060708 {
				t.Errorf("%d bytes: found %#x, %v", request, response, err)
			}
		}
	}
}

func TestARequestWithoutAHeadHasNoAnswer(t *testing.T) {
	for _, request := range []string{"", "1234567"} {
		if _, err := readPerfRequest(strings.NewReader(request)); err == nil {
			t.Errorf("%q: found no error", request)
		}
	}
}

func TestAResponseHasTheLengthThatWasAskedFor(t *testing.T) {
	for length, expected := range map[uint64]bool{perfChunk: true, perfChunk - 1: false, perfChunk + 1: false, 0: false} {
		var stream bytes.Buffer
		if err := writeZeros(&stream, length); err != nil {
			t.Fatal(err)
		}
		if err := readPerfResponse(&stream, &perfSizes{8, perfChunk}); (err == nil) != expected {
			t.Errorf("%d bytes: found %v", length, err)
		}
	}
}

func TestOnlyAClientOfPerfHasSizes(t *testing.T) {
	asked := []string{"TESTCASE=perf", "QUICLAB_PERF_REQUEST=9", "QUICLAB_PERF_RESPONSE=8000000000"}
	settings, err := parse(asked...)
	if err != nil || *settings.perf != (perfSizes{9, 8_000_000_000}) {
		t.Errorf("found %+v, %v", settings, err)
	}
	for _, changes := range [][]string{asked[1:], append([]string{"ROLE=server"}, asked...)} {
		if _, err := parse(changes...); !errors.Is(err, errNotSupported) {
			t.Errorf("%v: found %v, expected not supported", changes, err)
		}
	}
	for _, changes := range [][]string{
		asked[:2],
		{asked[0], asked[2]},
		{asked[0], "QUICLAB_PERF_REQUEST=7", asked[2]},
		{asked[0], asked[1], "QUICLAB_PERF_RESPONSE=-1"},
	} {
		if _, err := parse(changes...); err == nil || errors.Is(err, errNotSupported) {
			t.Errorf("%v: found %v, expected a failure", changes, err)
		}
	}
	if settings, err := parse("ROLE=server", "TESTCASE=perf"); err != nil || settings.perf != nil {
		t.Errorf("found %+v, %v", settings, err)
	}
}
