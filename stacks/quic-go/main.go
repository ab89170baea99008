// Command quic-go-endpoint is HTTP/3, HTTP/0.9 or perf over quic-go as a quiclab endpoint: server or client, by ROLE.
//
// Nothing of QUIC is decided here: windows, timers, packet sizes and pacing are quic-go's defaults. Read settings.go first
// (what is honoured, what is refused), then server.go and client.go; hq.go is HTTP/0.9 for both, perf_streams.go is perf.
//
// Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const (
	exitFailed       = 1
	exitNotSupported = 127
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
	// quic-go's own switch, read when a socket is opened. Set both ways: the caller's environment must not decide.
	if err := os.Setenv("QUIC_GO_DISABLE_GSO", strconv.FormatBool(!settings.gso)); err != nil {
		return err
	}
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
	if settings.role == "server" {
		return serve(settings)
	}
	if err := fetchAll(settings); err != nil {
		return err
	}
	return perfLatencies.write(settings.perfLatencies)
}

// quicConfig leaves everything at quic-go's defaults but what the test case is about. The tracer writes only where QLOGDIR is set.
func quicConfig(settings *settings) *quic.Config {
	config := &quic.Config{Tracer: qlog.DefaultConnectionTracer}
	switch settings.testCase {
	case "zerortt":
		config.Allow0RTT = true
	case "multiconnect":
		// Packets may be lost. quic-go gives a handshake up after twice this.
		config.HandshakeIdleTimeout = 30 * time.Second
	case "v2":
		// The first one is the one that the client begins with.
		config.Versions = []quic.Version{quic.Version2, quic.Version1}
	}
	return config
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

// checkOffload says whether a connection that has sent data did use segmentation offload as asked: quic-go falls back in
// silence where kernel or interface refuse it.
func checkOffload(settings *settings, connection *quic.Conn) error {
	if found := connection.ConnectionState().GSO; found != settings.gso {
		return fmt.Errorf("segmentation offload: found %t, expected %t; hint: the interface must have its checksum offload turned on", found, settings.gso)
	}
	return nil
}
