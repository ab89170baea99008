// The plainest server and client over quic-go: the server sends as many zeros as the client asks for, on one stream.
//
//	quic-go-loop server 127.0.0.1:4433 CERTIFICATE KEY
//	quic-go-loop client 127.0.0.1:4433 CERTIFICATE BYTES
//
// The configuration is the library's. The client prints bytes and seconds, from its request to the end of the response, as JSON.
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

	"github.com/quic-go/quic-go"
)

var piece [1 << 16]byte

func main() {
	log.SetFlags(0)
	var err error
	switch {
	case len(os.Args) == 5 && os.Args[1] == "server":
		err = server(os.Args[2], os.Args[3], os.Args[4])
	case len(os.Args) == 5 && os.Args[1] == "client":
		err = client(os.Args[2], os.Args[3], os.Args[4])
	default:
		err = errors.New("usage: server ADDRESS CERTIFICATE KEY | client ADDRESS CERTIFICATE BYTES")
	}
	if err != nil {
		log.Fatal(err)
	}
}

func server(address, certificate, key string) error {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr(address, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"loop"}}, nil)
	if err != nil {
		return err
	}
	log.Print("listening")
	for {
		connection, err := listener.Accept(context.Background())
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

func client(address, certificate, number string) error {
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
	settings := &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{"loop"}}
	connection, err := quic.DialAddr(context.Background(), address, settings, nil)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := stream.Write(binary.BigEndian.AppendUint64(nil, bytes)); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
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
	return connection.CloseWithError(0, "")
}
