package main

import (
	"crypto/tls"
	"errors"
	"time"
)

// ticketPatience is how long the first connection stays open for its session ticket.
const ticketPatience = 5 * time.Second

// tickets is a session cache that tells when a ticket has come.
type tickets struct {
	tls.ClientSessionCache
	came chan struct{}
}

// Put stores a session.
func (t *tickets) Put(key string, session *tls.ClientSessionState) {
	t.ClientSessionCache.Put(key, session)
	if session == nil {
		return
	}
	select {
	case t.came <- struct{}{}:
	default:
	}
}

// wait returns when a ticket is there.
func (t *tickets) wait() error {
	select {
	case <-t.came:
		return nil
	case <-time.After(ticketPatience):
		return errors.New("found no session ticket, expected one from the server")
	}
}

// resume fetches the first URL, and the others over a second connection that resumes the session of the first one; with early
// data where the test case is zerortt. It is an error where the server does not take the session, or its early data.
func (c *client) resume() error {
	tickets := &tickets{tls.NewLRUClientSessionCache(1), make(chan struct{}, 1)}
	c.tlsConfig.ClientSessionCache = tickets
	first, err := c.dial(c.transport.Dial)
	if err != nil {
		return err
	}
	if err := c.fetchOver(first, c.settings.requests[:1], tickets.wait); err != nil {
		return err
	}
	dial := c.transport.Dial
	if c.settings.testCase == "zerortt" {
		dial = c.transport.DialEarly
	}
	second, err := c.dial(dial)
	if err != nil {
		return err
	}
	return c.fetchOver(second, c.settings.requests[1:], func() error {
		state := second.ConnectionState()
		switch {
		case !state.TLS.DidResume:
			return errors.New("found a full handshake, expected the session to be resumed")
		case c.settings.testCase == "zerortt" && !state.Used0RTT:
			return errors.New("found no early data, expected requests in it")
		}
		return nil
	})
}
