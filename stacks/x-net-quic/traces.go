package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/net/quic/qlog"
)

// traceBuffer is how much of a trace is kept in memory, in bytes: the library writes once for each packet.
const traceBuffer = 256 << 10

// traces are the qlog files of this process.
type traces struct {
	folder string

	mutex   sync.Mutex
	buffers []*trace
}

// trace is one qlog file.
type trace struct {
	mutex  sync.Mutex
	buffer *bufio.Writer
	file   *os.File
}

// open makes the file of a connection, named by its first connection ID, or that of the endpoint.
func (t *traces) open(info qlog.TraceInfo) (io.WriteCloser, error) {
	name := string(info.Vantage) + ".sqlog"
	if info.GroupID != "" {
		name = info.GroupID + "_" + name
	}
	file, err := os.OpenFile(filepath.Join(t.folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	opened := &trace{buffer: bufio.NewWriterSize(file, traceBuffer), file: file}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.buffers = append(t.buffers, opened)
	return opened, nil
}

// flush writes down what is in memory.
func (t *traces) flush() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, trace := range t.buffers {
		trace.flush()
	}
}

// flushOnTermination makes SIGTERM flush before it ends this process.
func (t *traces) flushOnTermination() {
	if t.folder == "" {
		return
	}
	terminations := make(chan os.Signal, 1)
	signal.Notify(terminations, syscall.SIGTERM)
	go func() {
		<-terminations
		t.flush()
		os.Exit(exitFailed)
	}()
}

// Write adds one event.
func (t *trace) Write(event []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.buffer.Write(event)
}

// Close writes everything down and closes the file.
func (t *trace) Close() error {
	return errors.Join(t.flush(), t.file.Close())
}

func (t *trace) flush() error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.buffer.Flush()
}
