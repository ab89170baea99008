package main

import (
	"context"

	"golang.org/x/net/quic"
)

// answerPerf reads a request to its end, and sends as many bytes as it asks for. A stream of one direction has no answer.
func answerPerf(stream *quic.Stream) error {
	// A stream counts as open until this is called, even where all of it was read.
	defer stream.CloseRead()
	if stream.IsReadOnly() {
		_, err := readPerf(stream)
		return err
	}
	response, err := readPerfRequest(stream)
	if err != nil {
		return err
	}
	if err := writeZeros(stream, response); err != nil {
		return err
	}
	perfCounters.exchanges.Add(1)
	stream.CloseWrite()
	return nil
}

// exchangePerf asks for a response on a stream of its own, and reads it.
func exchangePerf(connection *quic.Conn, sizes *perfSizes) error {
	stream, err := connection.NewStream(context.Background())
	if err != nil {
		return err
	}
	defer stream.CloseRead()
	if err := writePerfRequest(stream, sizes); err != nil {
		return err
	}
	stream.CloseWrite()
	return readPerfResponse(stream, sizes)
}
