package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// servePerf answers every connection of listener.
func servePerf(settings *settings, listener *quic.EarlyListener) error {
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go countHandshake(connection)
		go servePerfConnection(settings, connection)
		go dropPerf(connection)
	}
}

// countHandshake counts a connection when its handshake is complete: the listener gives it away before.
func countHandshake(connection *quic.Conn) {
	select {
	case <-connection.HandshakeComplete():
		perfConnected(pathOf(connection))
	case <-connection.Context().Done():
	}
}

func servePerfConnection(settings *settings, connection *quic.Conn) {
	var check sync.Once
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
			check.Do(func() { exitWithoutOffload(settings, connection) })
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

// perf carries what settings ask for. The draft names no codes of a connection that ends well, so it is 0.
func (c *client) perf() error {
	if c.settings.perfLoad == loadHandshakes {
		return c.shakeHands()
	}
	connection, err := c.dial(c.transport.Dial)
	if err != nil {
		return err
	}
	perfConnected(pathOf(connection))
	exchange := func(sizes *perfSizes) (time.Time, error) { return exchangePerf(connection, sizes) }
	err = runPerf(c.settings, exchange, func() { connection.CloseWithError(0, "") })
	return errors.Join(err, checkOffload(c.settings, connection))
}

// shakeHands opens connections until the time is over, one per URL at a time. The library has no session cache by itself.
func (c *client) shakeHands() error {
	over, end := context.WithCancel(context.Background())
	one := func(int) error {
		for {
			began := time.Now()
			connection, err := c.transport.Dial(over, c.peer, c.tlsConfig, quicConfig(c.settings))
			if err != nil {
				return fmt.Errorf("connecting to %s: %w", c.peer, err)
			}
			perfLatencies.since(began)
			perfConnected(pathOf(connection))
			closeIt := func() { connection.CloseWithError(0, "") }
			isStopped := context.AfterFunc(over, closeIt)
			_, err = exchangePerf(connection, &perfSmallest)
			isStopped()
			closeIt()
			if err != nil {
				return err
			}
		}
	}
	return concurrently(c.settings, len(c.settings.requests), one, end)
}

// exchangePerf asks for a response on a stream of its own, and reads it. It returns when the stream was there.
func exchangePerf(connection *quic.Conn, sizes *perfSizes) (time.Time, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	if err := writePerfRequest(stream, sizes); err != nil {
		return began, err
	}
	if err := stream.Close(); err != nil {
		return began, err
	}
	return began, readPerfResponse(stream, sizes)
}

// pathOf returns what tells of the path of a connection.
func pathOf(connection *quic.Conn) func() perfPath {
	return func() perfPath {
		stats := connection.ConnectionStats()
		return perfPath{stats.SmoothedRTT, stats.CongestionWindow, stats.PacketsLost}
	}
}
