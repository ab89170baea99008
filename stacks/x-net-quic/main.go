// Command x-net-quic-endpoint is HTTP/0.9 or perf over golang.org/x/net/quic as a quiclab endpoint: server or client, by ROLE.
//
// Of QUIC only the sizes of buffers are decided here, which are its flow control windows; see config. Read settings.go first
// (what is honoured, what is refused), then server.go and client.go.
//
// Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/net/quic"
	"golang.org/x/net/quic/qlog"
)

const (
	exitFailed       = 1
	exitNotSupported = 127

	// protocol is the ALPN of HTTP/0.9 over QUIC.
	protocol = "hq-interop"
	// streamWindow is the flow control window of a stream in bytes, and what a stream holds that is not acknowledged yet. The
	// library's 1 MiB, which does not grow, would limit a transfer to that much each round trip.
	streamWindow = 16 << 20
	// connectionWindow is the flow control window of a connection in bytes.
	connectionWindow = 32 << 20
)

func main() {
	settings, err := parseSettings(os.Environ())
	if err == nil {
		err = run(settings)
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, errNotSupported) {
		os.Exit(exitNotSupported)
	}
	os.Exit(exitFailed)
}

func run(settings *settings) error {
	// Known from the library's source: it neither tells its congestion control nor lets it be chosen.
	fmt.Fprintln(os.Stderr, "congestion control: reno")
	stop, err := settings.perfProgress.report()
	if err != nil {
		return err
	}
	defer stop()
	if settings.testCase == "chacha20" {
		allowOnlyChaCha20()
	}
	traces := &traces{folder: settings.qlogDir}
	defer traces.flush()
	if settings.role == "server" {
		traces.flushOnTermination()
		return serve(settings, traces)
	}
	if err := fetchAll(settings, traces); err != nil {
		return err
	}
	return perfLatencies.write(settings.perfLatencies)
}

// config is the library's default but for windows, and for what settings ask.
func config(settings *settings, traces *traces, tlsConfig *tls.Config) *quic.Config {
	config := &quic.Config{
		TLSConfig:                tlsConfig,
		MaxStreamReadBufferSize:  streamWindow,
		MaxStreamWriteBufferSize: streamWindow,
		MaxConnReadBufferSize:    connectionWindow,
		RequireAddressValidation: settings.testCase == "retry",
	}
	if settings.qlogDir != "" {
		options := qlog.HandlerOptions{Level: quic.QLogLevelFrame, NewTrace: traces.open}
		config.QLogLogger = slog.New(qlog.NewJSONHandler(options))
	}
	return config
}

// applicationProtocol is the name in ALPN.
func applicationProtocol(settings *settings) string {
	if settings.testCase == "perf" {
		return perfProtocol
	}
	return protocol
}

// logKeys appends TLS secrets to settings.keyLog, where one was asked for.
func logKeys(settings *settings, tlsConfig *tls.Config) error {
	if settings.keyLog == "" {
		return nil
	}
	file, err := os.OpenFile(settings.keyLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("SSLKEYLOGFILE: %w", err)
	}
	tlsConfig.KeyLogWriter = file
	return nil
}
