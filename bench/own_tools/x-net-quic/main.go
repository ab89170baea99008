// The plainest server and client over golang.org/x/net/quic: the server sends as many zeros as the client asks for, on one stream.
//
//	x-net-quic-loop server 127.0.0.1:4433 CERTIFICATE KEY [WINDOW]
//	x-net-quic-loop client 127.0.0.1:4433 CERTIFICATE BYTES [WINDOW]
//
// WINDOW is what a stream may have ahead and unacknowledged, in bytes, and half of what a connection may; without it, the library's
// values. The client prints bytes and seconds, from its request to the end of the response, as JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/quic"
)

var piece [1 << 16]byte

func main() {
	log.SetFlags(0)
	window, err := windowOf(os.Args)
	switch {
	case err != nil:
	case len(os.Args) >= 5 && os.Args[1] == "server":
		err = server(os.Args[2], os.Args[3], os.Args[4], window)
	case len(os.Args) >= 5 && os.Args[1] == "client":
		err = client(os.Args[2], os.Args[3], os.Args[4], window)
	default:
		err = errors.New("usage: server ADDRESS CERTIFICATE KEY [WINDOW] | client ADDRESS CERTIFICATE BYTES [WINDOW]")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func windowOf(arguments []string) (int64, error) {
	if len(arguments) < 6 {
		return 0, nil
	}
	return strconv.ParseInt(arguments[5], 10, 64)
}

func config(settings *tls.Config, window int64) *quic.Config {
	settings.MinVersion, settings.NextProtos = tls.VersionTLS13, []string{"loop"}
	return &quic.Config{
		TLSConfig:                settings,
		MaxStreamReadBufferSize:  window,
		MaxStreamWriteBufferSize: window,
		MaxConnReadBufferSize:    2 * window,
	}
}

func server(address, certificate, key string, window int64) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	endpoint, err := quic.Listen("udp", address, config(&tls.Config{Certificates: []tls.Certificate{pair}}, window))
	if err != nil {
		return err
	}
	log.Print("listening")
	for {
		connection, err := endpoint.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := serve(connection); err != nil {
				log.Print(err)
			}
		}()
	}
}

func serve(connection *quic.Conn) error {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	var request [8]byte
	if _, err := io.ReadFull(stream, request[:]); err != nil {
		return err
	}
	for left := binary.BigEndian.Uint64(request[:]); left > 0; {
		part := min(left, uint64(len(piece)))
		if _, err := stream.Write(piece[:part]); err != nil {
			return err
		}
		left -= part
	}
	return stream.Close()
}

func client(address, certificate, number string, window int64) error {
	bytes, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(certificate)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	endpoint, err := quic.Listen("udp", "127.0.0.1:0", nil)
	if err != nil {
		return err
	}
	settings := config(&tls.Config{RootCAs: roots, ServerName: "localhost"}, window)
	connection, err := endpoint.Dial(context.Background(), "udp", address, settings)
	if err != nil {
		return err
	}
	stream, err := connection.NewStream(context.Background())
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := stream.Write(binary.BigEndian.AppendUint64(nil, bytes)); err != nil {
		return err
	}
	stream.CloseWrite()
	buffer := make([]byte, 1<<16)
	var received uint64
	for {
		count, err := stream.Read(buffer)
		received += uint64(count)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	seconds := time.Since(began).Seconds()
	if received != bytes {
		return fmt.Errorf("received %d of %d bytes", received, bytes)
	}
	fmt.Printf("{\"bytes\":%d,\"seconds\":%g}\n", received, seconds)
	// Close would wait for an answer, which a server that closes at the same time does not give.
	connection.Abort(nil)
	return endpoint.Close(context.Background())
}
