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
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// client is what all connections of a transfer have in common.
type client struct {
	settings  *settings
	transport *quic.Transport
	peer      *net.UDPAddr
	tlsConfig *tls.Config
}

// fetchAll fetches every URL over one connection, or over two where the test case resumes a session, or each over its own (multiconnect), and stores the bodies. A
// server that does not answer is given up after twice quic-go's handshake idle timeout (10 s), a silent one after its idle
// timeout (30 s).
func fetchAll(settings *settings) error {
	tlsConfig, err := clientTLS(settings)
	if err != nil {
		return err
	}
	peer, err := net.ResolveUDPAddr(settings.network, address(settings.requests[0]))
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP(settings.network, nil)
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	defer transport.Close()
	client := &client{settings: settings, transport: transport, peer: peer, tlsConfig: tlsConfig}
	if settings.testCase == "perf" {
		return client.perf()
	}
	if settings.testCase == "resumption" || settings.testCase == "zerortt" {
		return client.resume()
	}
	if settings.testCase == "multiconnect" {
		for i := range settings.requests {
			if err := client.fetchOnce(settings.requests[i : i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	return client.fetchOnce(settings.requests)
}

// fetchOnce fetches the URLs over a new connection.
func (c *client) fetchOnce(requests []*url.URL) error {
	connection, err := c.dial(c.transport.Dial)
	if err != nil {
		return err
	}
	return c.fetchOver(connection, requests, nil)
}

// dial opens a connection by Transport.Dial or Transport.DialEarly.
func (c *client) dial(by func(context.Context, net.Addr, *tls.Config, *quic.Config) (*quic.Conn, error)) (*quic.Conn, error) {
	connection, err := by(context.Background(), c.peer, c.tlsConfig, quicConfig(c.settings))
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", c.peer, err)
	}
	return connection, nil
}

// migrateAfter is when a client leaves its path: some round trips after the handshake, within the transfer.
const migrateAfter = 500 * time.Millisecond

// migrate opens another port, validates the path from there, and moves the connection to it.
func (c *client) migrate(connection *quic.Conn) error {
	socket, err := net.ListenUDP(c.settings.network, nil)
	if err != nil {
		return err
	}
	// Nobody closes it: the connection lives on it from now on, and the process ends with the connection.
	path, err := connection.AddPath(&quic.Transport{Conn: socket})
	if err != nil {
		return fmt.Errorf("%w: connection migration: %w", errNotSupported, err)
	}
	if err := path.Probe(connection.Context()); err != nil {
		return fmt.Errorf("validating a new path: %w", err)
	}
	return path.Switch()
}

// fetchOver fetches the URLs, each on its own stream, settings.streams of them at the same time. Then it calls done, where
// that is not nil, and closes the connection.
func (c *client) fetchOver(connection *quic.Conn, requests []*url.URL, done func() error) error {
	// Tells the server, so that it need not wait for its idle timeout.
	noError := quic.ApplicationErrorCode(http3.ErrCodeNoError)
	fetch := c.fetchHQ
	if c.settings.http == "h3" {
		fetch = c.fetchH3
	}
	defer connection.CloseWithError(noError, "")
	one := fetch(connection)

	moved := make(chan error, 1)
	if c.settings.testCase == "connectionmigration" {
		time.AfterFunc(migrateAfter, func() { moved <- c.migrate(connection) })
	} else {
		moved <- nil
	}

	failures := make([]error, len(requests))
	places := make(chan struct{}, min(c.settings.streams, len(requests)))
	var running sync.WaitGroup
	for i, request := range requests {
		places <- struct{}{}
		running.Go(func() {
			if err := one(request); err != nil {
				failures[i] = fmt.Errorf("%s: %w", request, err)
			}
			<-places
		})
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if err := <-moved; err != nil {
		return err
	}
	if err := checkOffload(c.settings, connection); err != nil {
		return err
	}
	if done == nil {
		return nil
	}
	return done()
}

// fetchH3 returns what fetches one URL over HTTP/3. Any status but 200 and any length but the announced one is an error.
func (c *client) fetchH3(connection *quic.Conn) func(*url.URL) error {
	h3 := (&http3.Transport{DisableCompression: true}).NewClientConn(connection)
	method := http.MethodGet
	if c.settings.testCase == "zerortt" {
		// Does not wait for the handshake, which on the first connection is over anyway.
		method = http3.MethodGet0RTT
	}
	return func(target *url.URL) error {
		response, err := h3.RoundTrip(&http.Request{Method: method, URL: target, Host: target.Host, Header: http.Header{}})
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("found status %d, expected 200", response.StatusCode)
		}
		return c.store(target, response.Body, response.ContentLength)
	}
}

// fetchHQ returns what fetches one URL over HTTP/0.9.
func (c *client) fetchHQ(connection *quic.Conn) func(*url.URL) error {
	return func(target *url.URL) error {
		body, err := requestHQ(connection, target)
		if err != nil {
			return err
		}
		return c.store(target, body, -1)
	}
}

// store writes body into the file that is named after target. Length is the announced one in bytes, negative where there is none.
func (c *client) store(target *url.URL, body io.Reader, length int64) error {
	file, err := os.Create(filepath.Join(c.settings.downloads, fileName(target)))
	if err != nil {
		return err
	}
	found, err := io.Copy(file, body)
	if err == nil && length >= 0 && found != length {
		err = fmt.Errorf("found %d bytes, expected %d", found, length)
	}
	return errors.Join(err, file.Close())
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
	protocol := http3.NextProtoH3
	switch {
	case settings.testCase == "perf":
		protocol = perfProtocol
	case settings.http == "hq":
		protocol = hqProtocol
	}
	tlsConfig := &tls.Config{
		RootCAs:          trusted,
		ServerName:       settings.requests[0].Hostname(),
		NextProtos:       []string{protocol},
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: groups[settings.keyExchange],
	}
	return tlsConfig, logKeys(settings, tlsConfig)
}
