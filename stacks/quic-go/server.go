package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// connectionKey is where a request's context holds its *quic.Conn.
type connectionKey struct{}

// serve answers from settings.www until the process is killed.
func serve(settings *settings) error {
	tlsConfig, err := serverTLS(settings)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP(settings.network, &net.UDPAddr{Port: settings.port})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	if settings.testCase == "retry" {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	if settings.testCase == "perf" {
		tlsConfig.NextProtos = []string{perfProtocol}
		listener, err := transport.ListenEarly(tlsConfig, quicConfig(settings))
		if err != nil {
			return err
		}
		return servePerf(settings, listener)
	}
	if settings.http == "hq" {
		tlsConfig.NextProtos = []string{hqProtocol}
		listener, err := transport.ListenEarly(tlsConfig, quicConfig(settings))
		if err != nil {
			return err
		}
		return serveHQ(settings, listener)
	}
	server := h3Server(settings, tlsConfig)
	if settings.testCase == "retry" {
		listener, err := transport.ListenEarly(http3.ConfigureTLSConfig(tlsConfig), server.QUICConfig)
		if err != nil {
			return err
		}
		return server.ServeListener(listener)
	}
	// Only a listener of http3's own puts the settings of HTTP/3 into session tickets, which early data needs.
	return server.Serve(socket)
}

func h3Server(settings *settings, tlsConfig *tls.Config) *http3.Server {
	files := http.FileServer(http.Dir(settings.www))
	return &http3.Server{
		TLSConfig:  tlsConfig,
		QUICConfig: quicConfig(settings),
		ConnContext: func(ctx context.Context, connection *quic.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connection)
		},
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
			files.ServeHTTP(writer, request)
			if connection, ok := request.Context().Value(connectionKey{}).(*quic.Conn); ok {
				exitWithoutOffload(settings, connection)
			}
		}),
	}
}

// serverTLS has the certificate of settings.certs, which comes after settings.certificateDelay.
func serverTLS(settings *settings) (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(settings.certs, "cert.pem"), filepath.Join(settings.certs, "priv.key"))
	if err != nil {
		return nil, fmt.Errorf("CERTS: %w", err)
	}
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
	if settings.certificateDelay > 0 {
		tlsConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			time.Sleep(settings.certificateDelay)
			return &certificate, nil
		}
		// crypto/tls prefers a certificate that is there already.
		tlsConfig.Certificates = nil
	}
	return tlsConfig, logKeys(settings, tlsConfig)
}

// exitWithoutOffload ends the process where a connection that has sent data did not use segmentation offload as asked.
func exitWithoutOffload(settings *settings, connection *quic.Conn) {
	if err := checkOffload(settings, connection); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}
