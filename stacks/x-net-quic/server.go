package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/net/quic"
)

const (
	// failed resets the stream of a request that cannot be answered: HTTP/0.9 has no status.
	failed = 1
)

// serve answers from settings.www until the process is killed.
func serve(settings *settings, traces *traces) error {
	tlsConfig, err := serverTLS(settings)
	if err != nil {
		return err
	}
	everywhere := net.JoinHostPort("", strconv.Itoa(settings.port))
	endpoint, err := quic.Listen(settings.network, everywhere, config(settings, traces, tlsConfig))
	if err != nil {
		return err
	}
	for {
		connection, err := endpoint.Accept(context.Background())
		if err != nil {
			return err
		}
		go serveConnection(settings, connection)
	}
}

func serveConnection(settings *settings, connection *quic.Conn) {
	if settings.testCase == "perf" {
		perfConnected(nil)
	}
	for {
		stream, err := connection.AcceptStream(context.Background())
		if err != nil {
			// The client has gone.
			connection.Abort(nil)
			return
		}
		go func() {
			if err := handle(settings, stream); err != nil {
				fmt.Fprintln(os.Stderr, err)
				stream.Reset(failed)
			}
		}()
	}
}

// handle does with a stream what the test case is about.
func handle(settings *settings, stream *quic.Stream) error {
	if settings.testCase == "perf" {
		return answerPerf(stream)
	}
	return answer(settings, stream)
}

// answer reads one request and answers it. An error means that the answer is not whole.
func answer(settings *settings, stream *quic.Stream) error {
	// A stream counts as open until this is called, even where all of it was read.
	defer stream.CloseRead()
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
	stream.CloseWrite()
	return nil
}

// serverTLS has the certificate of settings.certs, which comes after settings.certificateDelay.
func serverTLS(settings *settings) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(settings.certs, "cert.pem"), filepath.Join(settings.certs, "priv.key"))
	if err != nil {
		return nil, fmt.Errorf("CERTS: %w", err)
	}
	tlsConfig := &tls.Config{NextProtos: []string{applicationProtocol(settings)}, MinVersion: tls.VersionTLS13}
	tlsConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		time.Sleep(settings.certificateDelay)
		return &certificate, nil
	}
	return tlsConfig, logKeys(settings, tlsConfig)
}
