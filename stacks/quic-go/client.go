package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// fetchAll fetches every URL over one connection, each on its own stream at the same time, and stores the bodies. A server
// that does not answer is given up after quic-go's handshake idle timeout (5 s), a silent one after its idle timeout (30 s).
func fetchAll(settings *settings) error {
	tlsConfig, err := clientTLS(settings)
	if err != nil {
		return err
	}
	peer, err := net.ResolveUDPAddr("udp4", address(settings.requests[0]))
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	defer transport.Close()
	connection, err := transport.Dial(context.Background(), peer, tlsConfig, quicConfig())
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", peer, err)
	}
	// Tells the server, so that it need not wait for its idle timeout.
	defer connection.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	client := (&http3.Transport{DisableCompression: true}).NewClientConn(connection)

	failures := make([]error, len(settings.requests))
	var running sync.WaitGroup
	for i, request := range settings.requests {
		running.Go(func() { failures[i] = fetch(client, request, filepath.Join(settings.downloads, fileName(request))) })
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return checkOffload(settings, connection)
}

// fetch stores the body of one answer as the file stored. Any status but 200 and any length but the announced one is an error.
func fetch(client http.RoundTripper, target *url.URL, stored string) error {
	response, err := client.RoundTrip(&http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: http.Header{}})
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: found status %d, expected 200", target, response.StatusCode)
	}
	file, err := os.Create(stored)
	if err != nil {
		return err
	}
	length, err := io.Copy(file, response.Body)
	if err == nil && response.ContentLength >= 0 && length != response.ContentLength {
		err = fmt.Errorf("found %d bytes, expected %d", length, response.ContentLength)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	return nil
}

// clientTLS trusts the laboratory's authority and nothing else.
func clientTLS(settings *settings) (*tls.Config, error) {
	authority, err := os.ReadFile(filepath.Join(settings.certs, "ca.pem"))
	if err != nil {
		return nil, fmt.Errorf("CERTS: %w", err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, errors.New("CERTS: ca.pem: found no certificate in PEM form")
	}
	tlsConfig := &tls.Config{
		RootCAs:    trusted,
		ServerName: settings.requests[0].Hostname(),
		NextProtos: []string{http3.NextProtoH3},
		MinVersion: tls.VersionTLS13,
	}
	keyLog, err := openKeyLog(settings)
	if err != nil {
		return nil, fmt.Errorf("SSLKEYLOGFILE: %w", err)
	}
	if keyLog != nil {
		tlsConfig.KeyLogWriter = keyLog
	}
	return tlsConfig, nil
}
