package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// draft-banks-quic-performance: a request begins with the number of bytes that the server is to send. What follows on the stream
// has no meaning, in either direction. No file and no memory grows with it.

const (
	// perfProtocol is its name in ALPN, section 2.1.
	perfProtocol = "perf"
	// perfHead is how many bytes of a request have a meaning, section 2.3.
	perfHead = 8
	// perfChunk is the largest piece that is handed to a stack at once, in bytes.
	perfChunk = 64 << 10
	// perfFailed resets a stream whose request has no answer. The draft names no codes.
	perfFailed = 1
)

// perfZeros is what is sent.
var perfZeros [perfChunk]byte

// perfSizes are the bytes on one stream.
type perfSizes struct {
	// From the client, at least perfHead.
	request uint64
	// From the server.
	response uint64
}

// writePerfRequest sends what the client sends on a stream, but for its end.
func writePerfRequest(stream io.Writer, sizes *perfSizes) error {
	var head [perfHead]byte
	binary.BigEndian.PutUint64(head[:], sizes.response)
	if _, err := stream.Write(head[:]); err != nil {
		return err
	}
	perfCounters.sent.Add(perfHead)
	return writeZeros(stream, sizes.request-perfHead)
}

// readPerfRequest reads a request to its end, and returns how many bytes it asks for.
func readPerfRequest(stream io.Reader) (uint64, error) {
	var head [perfHead]byte
	if _, err := io.ReadFull(stream, head[:]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, fmt.Errorf("found a request of less than %d bytes", perfHead)
		}
		return 0, err
	}
	perfCounters.received.Add(perfHead)
	_, err := readPerf(stream)
	return binary.BigEndian.Uint64(head[:]), err
}

// readPerfResponse reads a response to its end. Another length than the one asked for is an error.
func readPerfResponse(stream io.Reader, sizes *perfSizes) error {
	found, err := readPerf(stream)
	if err == nil && found != sizes.response {
		err = fmt.Errorf("found a response of %d bytes, expected %d", found, sizes.response)
	}
	if err == nil {
		perfCounters.exchanges.Add(1)
	}
	return err
}

// writeZeros sends so many bytes.
func writeZeros(stream io.Writer, bytes uint64) error {
	for bytes > 0 {
		piece := min(bytes, perfChunk)
		if _, err := stream.Write(perfZeros[:piece]); err != nil {
			return err
		}
		perfCounters.sent.Add(piece)
		bytes -= piece
	}
	return nil
}

// readPerf drops what comes until the end of the stream, and returns how much it was. io.Discard would take it in pieces of 8 KiB.
func readPerf(stream io.Reader) (uint64, error) {
	buffer := make([]byte, perfChunk)
	var found uint64
	for {
		length, err := stream.Read(buffer)
		found += uint64(length)
		perfCounters.received.Add(uint64(length))
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return found, err
		}
	}
}

// perfSizesOf is what a client of TESTCASE=perf is asked for; nil where it is another test case, or a server.
func perfSizesOf(variables map[string]string) (*perfSizes, error) {
	const request, response = "QUICLAB_PERF_REQUEST", "QUICLAB_PERF_RESPONSE"
	if variables["TESTCASE"] != "perf" || variables["ROLE"] != "client" {
		for _, name := range []string{request, response} {
			if found, ok := variables[name]; ok {
				return nil, fmt.Errorf("%s: found %q, this endpoint supports it for a client with TESTCASE=perf: %w", name, found, errNotSupported)
			}
		}
		return nil, nil
	}
	sizes := &perfSizes{}
	for name, size := range map[string]*uint64{request: &sizes.request, response: &sizes.response} {
		found, err := parseSize(name, variables[name])
		if err != nil {
			return nil, err
		}
		*size = found
	}
	if sizes.request < perfHead {
		return nil, fmt.Errorf("%s: found %d, expected at least %d", request, sizes.request, perfHead)
	}
	return sizes, nil
}
