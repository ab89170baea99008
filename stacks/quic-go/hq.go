package main

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/quic-go/quic-go"
)

const (
	// hqProtocol is the ALPN of HTTP/0.9 over QUIC: a request line, answered by the bare file.
	hqProtocol = "hq-interop"
	// hqFailed resets the stream of a request that cannot be answered: HTTP/0.9 has no status.
	hqFailed quic.StreamErrorCode = 1
)

// serveHQ answers every connection of listener.
func serveHQ(settings *settings, listener *quic.EarlyListener) error {
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go serveHQConnection(settings, connection)
	}
}

func serveHQConnection(settings *settings, connection *quic.Conn) {
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			// The client has gone.
			return
		}
		go func() {
			if answerHQ(settings, stream) != nil {
				stream.CancelRead(hqFailed)
				stream.CancelWrite(hqFailed)
			}
			exitWithoutOffload(settings, connection)
		}()
	}
}

// answerHQ reads one request and answers it. An error means that the answer is not whole.
func answerHQ(settings *settings, stream *quic.Stream) error {
	request, err := io.ReadAll(io.LimitReader(stream, longestRequest))
	if err != nil {
		return err
	}
	name, err := parseRequest(string(request))
	if err != nil {
		return err
	}
	// Does not leave its folder.
	file, err := http.Dir(settings.www).Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(stream, file); err != nil {
		return err
	}
	return stream.Close()
}

// requestHQ asks for target on a stream of its own, and returns the stream to read the answer from.
func requestHQ(connection *quic.Conn, target *url.URL) (io.Reader, error) {
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(stream, "GET "+target.EscapedPath()+"\r\n"); err != nil {
		return nil, err
	}
	return stream, stream.Close()
}
