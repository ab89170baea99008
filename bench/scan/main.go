// A loop of quic-go handshakes, for `cargo run --release -p quiclab-scan --example rate -- SECONDS IN_FLIGHT PROGRAM`: as many at a time as the
// scanner has, on one core, without checking certificates, over one socket.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 4 {
		return fmt.Errorf("found %d arguments, expected ADDRESS SECONDS IN_FLIGHT", len(arguments)-1)
	}
	address, err := net.ResolveUDPAddr("udp", arguments[1])
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(arguments[2], 64)
	if err != nil {
		return err
	}
	workers, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4zero})
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket}
	settings := &tls.Config{InsecureSkipVerify: true, ServerName: "test.example", NextProtos: []string{"h3"}}
	var completed, failed atomic.Uint64
	begin := time.Now()
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				connection, err := transport.Dial(ctx, address, settings, nil)
				cancel()
				if err != nil {
					failed.Add(1)
					continue
				}
				completed.Add(1)
				_ = connection.CloseWithError(0, "")
			}
		})
	}
	all.Wait()
	elapsed := time.Since(begin)
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"completed":   completed.Load(),
		"failed":      failed.Load(),
		"seconds":     elapsed.Seconds(),
		"cpu_seconds": cpu.Seconds(),
	})
}
