// Command quic-go-endpoint is HTTP/3 over quic-go as a quiclab endpoint: server or client, by ROLE.
//
// Nothing of QUIC is decided here: windows, timers, packet sizes and pacing are quic-go's defaults. Read settings.go first
// (what is honoured, what is refused), then server.go and client.go.
//
// Exit status: 0 done, 1 failed, 127 asked for something that this endpoint cannot do.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"

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
	if settings.role == "server" {
		return serve(settings)
	}
	return fetchAll(settings)
}

// quicConfig leaves everything at quic-go's defaults. The tracer writes only where QLOGDIR is set.
func quicConfig() *quic.Config {
	return &quic.Config{Tracer: qlog.DefaultConnectionTracer}
}

// openKeyLog opens the file that TLS secrets are appended to; nil where none was asked for.
func openKeyLog(settings *settings) (*os.File, error) {
	if settings.keyLog == "" {
		return nil, nil
	}
	return os.OpenFile(settings.keyLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// checkOffload says whether a connection that has sent data did use segmentation offload as asked: quic-go falls back in
// silence where kernel or interface refuse it.
func checkOffload(settings *settings, connection *quic.Conn) error {
	if found := connection.ConnectionState().GSO; found != settings.gso {
		return fmt.Errorf("segmentation offload: found %t, expected %t; hint: the interface must have its checksum offload turned on", found, settings.gso)
	}
	return nil
}
