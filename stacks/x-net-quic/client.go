package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/net/quic"
)

const (
	// ticketPatience is how long the first connection stays open for its session ticket.
	ticketPatience = 5 * time.Second
	// closingPatience is how long the server has to acknowledge that a connection is closed.
	closingPatience = 100 * time.Millisecond
)

// fetchAll fetches every URL over one connection, or over two where the test case resumes a session, and stores the bodies. A
// server that does not answer is given up after the library's handshake timeout (10 s), a silent one after its idle timeout (30 s).
func fetchAll(settings *settings, traces *traces) error {
	tlsConfig, err := clientTLS(settings)
	if err != nil {
		return err
	}
	endpoint, err := quic.Listen(settings.network, ":0", nil)
	if err != nil {
		return err
	}
	defer func() {
		patience, cancel := context.WithTimeout(context.Background(), closingPatience)
		defer cancel()
		endpoint.Close(patience)
	}()
	peer, err := net.ResolveUDPAddr(settings.network, address(settings.requests[0]))
	if err != nil {
		return err
	}
	dial := func() (*quic.Conn, error) {
		connection, err := endpoint.Dial(context.Background(), settings.network, peer.String(), config(settings, traces, tlsConfig))
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", peer, err)
		}
		return connection, nil
	}
	if settings.testCase == "resumption" {
		return resume(settings, tlsConfig, dial)
	}
	if settings.perfLoad == loadHandshakes {
		return shakeHands(settings, dial)
	}
	connection, err := dial()
	if err != nil {
		return err
	}
	defer connection.Abort(nil)
	if settings.perf != nil {
		perfConnected(nil)
		exchange := func(sizes *perfSizes) (time.Time, error) { return exchangePerf(connection, sizes) }
		return runPerf(settings, exchange, func() { connection.Abort(nil) })
	}
	return fetchOver(settings, connection, settings.requests)
}

// resume fetches the first URL, and the others over a second connection that resumes the session of the first one. It is an
// error where the server does not take the session.
func resume(settings *settings, tlsConfig *tls.Config, dial func() (*quic.Conn, error)) error {
	tickets := &tickets{tls.NewLRUClientSessionCache(1), make(chan struct{}, 1)}
	tlsConfig.ClientSessionCache = tickets
	first, err := dial()
	if err != nil {
		return err
	}
	defer first.Abort(nil)
	if err := fetchOver(settings, first, settings.requests[:1]); err != nil {
		return err
	}
	select {
	case <-tickets.came:
	case <-time.After(ticketPatience):
		return errors.New("found no session ticket, expected one from the server")
	}
	first.Abort(nil)
	second, err := dial()
	if err != nil {
		return err
	}
	defer second.Abort(nil)
	if !second.ConnectionState().DidResume {
		return errors.New("found a full handshake, expected the session to be resumed")
	}
	return fetchOver(settings, second, settings.requests[1:])
}

// tickets is a session cache that tells when a ticket has come.
type tickets struct {
	tls.ClientSessionCache
	came chan struct{}
}

// Put stores a session.
func (t *tickets) Put(key string, session *tls.ClientSessionState) {
	t.ClientSessionCache.Put(key, session)
	select {
	case t.came <- struct{}{}:
	default:
	}
}

// fetchOver fetches the URLs, each on its own stream, settings.streams of them at the same time.
func fetchOver(settings *settings, connection *quic.Conn, requests []*url.URL) error {
	failures := make([]error, len(requests))
	places := make(chan struct{}, min(settings.streams, len(requests)))
	var running sync.WaitGroup
	for i, request := range requests {
		places <- struct{}{}
		running.Go(func() {
			if err := fetch(connection, request, filepath.Join(settings.downloads, fileName(request))); err != nil {
				failures[i] = fmt.Errorf("%s: %w", request, err)
			}
			<-places
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// fetch stores the answer to one request as the file stored.
func fetch(connection *quic.Conn, target *url.URL, stored string) error {
	stream, err := connection.NewStream(context.Background())
	if err != nil {
		return err
	}
	// A stream counts as open until this is called, even where all of it was read.
	defer stream.CloseRead()
	if _, err := io.WriteString(stream, "GET "+target.EscapedPath()+"\r\n"); err != nil {
		return err
	}
	stream.CloseWrite()
	file, err := os.Create(stored)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, stream)
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
	tlsConfig := &tls.Config{
		RootCAs:          trusted,
		ServerName:       settings.requests[0].Hostname(),
		NextProtos:       []string{applicationProtocol(settings)},
		MinVersion:       tls.VersionTLS13,
		CurvePreferences: groups[settings.keyExchange],
	}
	return tlsConfig, logKeys(settings, tlsConfig)
}
