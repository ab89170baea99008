package main

import (
	"os"

	"github.com/quic-go/quic-go"
)

// init adds to the endpoint of ../quic-go what the patched library can do. It is a server only, as the patch concerns no client.
func init() {
	choices["QUICLAB_FIRST_ACK"] = []string{"instant", "wait"}
	delete(testCases, "client")
	// Anything else than these two is refused before the library looks at it.
	quic.FirstAck = os.Getenv("QUICLAB_FIRST_ACK")
}
