package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// connectionKey is where a request's context holds its *quic.Conn.
type connectionKey struct{}

// serve answers from settings.www until the process is killed.
func serve(settings *settings) error {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(settings.certs, "cert.pem"), filepath.Join(settings.certs, "priv.key"))
	if err != nil {
		return fmt.Errorf("CERTS: %w", err)
	}
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
	keyLog, err := openKeyLog(settings)
	if err != nil {
		return fmt.Errorf("SSLKEYLOGFILE: %w", err)
	}
	if keyLog != nil {
		tlsConfig.KeyLogWriter = keyLog
	}
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{Port: settings.port})
	if err != nil {
		return err
	}
	files := http.FileServer(http.Dir(settings.www))
	server := &http3.Server{
		TLSConfig:  tlsConfig,
		QUICConfig: quicConfig(),
		ConnContext: func(ctx context.Context, connection *quic.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connection)
		},
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			files.ServeHTTP(writer, request)
			connection, ok := request.Context().Value(connectionKey{}).(*quic.Conn)
			if !ok {
				return
			}
			if err := checkOffload(settings, connection); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(exitFailed)
			}
		}),
	}
	return server.Serve(socket)
}
