package main

import (
	"context"
	"time"

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

// exchangePerf asks for a response on a stream of its own, and reads it. It returns when the stream was there.
func exchangePerf(connection *quic.Conn, sizes *perfSizes) (time.Time, error) {
	stream, err := connection.NewStream(context.Background())
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	defer stream.CloseRead()
	if err := writePerfRequest(stream, sizes); err != nil {
		return began, err
	}
	stream.CloseWrite()
	return began, readPerfResponse(stream, sizes)
}

// shakeHands opens connections until the time is over, one per URL at a time. There is no session cache.
func shakeHands(settings *settings, dial func() (*quic.Conn, error)) error {
	over, end := context.WithCancel(context.Background())
	one := func(int) error {
		for over.Err() == nil {
			began := time.Now()
			connection, err := dial()
			if err != nil {
				return err
			}
			perfLatencies.since(began)
			perfConnected(nil)
			closeIt := func() { connection.Abort(nil) }
			isStopped := context.AfterFunc(over, closeIt)
			_, err = exchangePerf(connection, &perfSmallest)
			isStopped()
			closeIt()
			if err != nil {
				return err
			}
		}
		return nil
	}
	return concurrently(settings, len(settings.requests), one, end)
}
