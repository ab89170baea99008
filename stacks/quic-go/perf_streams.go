package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/quic-go/quic-go"
)

// servePerf answers every connection of listener.
func servePerf(settings *settings, listener *quic.EarlyListener) error {
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		perfConnected(pathOf(connection))
		go servePerfConnection(settings, connection)
		go dropPerf(connection)
	}
}

func servePerfConnection(settings *settings, connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			// The client has gone.
			return
		}
		go func() {
			if err := answerPerf(stream); err != nil {
				fmt.Fprintf(os.Stderr, "stream %d: %v\n", stream.StreamID(), err)
				stream.CancelRead(perfFailed)
				stream.CancelWrite(perfFailed)
				return
			}
			exitWithoutOffload(settings, connection)
		}()
	}
}

// dropPerf reads streams of one direction, which have no answer.
func dropPerf(connection *quic.Conn) {
	for {
		stream, err := connection.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		// An error is the client's: nobody waits for this stream.
		go readPerf(stream)
	}
}

// answerPerf reads a request to its end, and sends as many bytes as it asks for.
func answerPerf(stream *quic.Stream) error {
	response, err := readPerfRequest(stream)
	if err != nil {
		return err
	}
	if err := writeZeros(stream, response); err != nil {
		return err
	}
	perfCounters.exchanges.Add(1)
	return stream.Close()
}

// exchangePerf returns what asks for a response on a stream of its own, and reads it. The URL says nothing.
func (c *client) exchangePerf(connection *quic.Conn) func(*url.URL) error {
	perfConnected(pathOf(connection))
	return func(*url.URL) error {
		stream, err := connection.OpenStreamSync(context.Background())
		if err != nil {
			return err
		}
		if err := writePerfRequest(stream, c.settings.perf); err != nil {
			return err
		}
		if err := stream.Close(); err != nil {
			return err
		}
		return readPerfResponse(stream, c.settings.perf)
	}
}

// pathOf returns what tells of the path of a connection.
func pathOf(connection *quic.Conn) func() perfPath {
	return func() perfPath {
		stats := connection.ConnectionStats()
		return perfPath{stats.SmoothedRTT, stats.CongestionWindow, stats.PacketsLost}
	}
}
