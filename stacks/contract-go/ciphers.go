package main

import (
	"crypto/tls"
	_ "unsafe" // for go:linkname
)

// crypto/tls has no option for the cipher suites of TLS 1.3. It keeps these two lists reachable by name for quic-go, whose
// endpoint for interoperability tests does the same.

//go:linkname defaultCipherSuitesTLS13 crypto/tls.defaultCipherSuitesTLS13
var defaultCipherSuitesTLS13 []uint16

//go:linkname defaultCipherSuitesTLS13NoAES crypto/tls.defaultCipherSuitesTLS13NoAES
var defaultCipherSuitesTLS13NoAES []uint16

// allowOnlyChaCha20 makes ChaCha20-Poly1305 the only cipher suite that this process offers and takes.
func allowOnlyChaCha20() {
	defaultCipherSuitesTLS13 = []uint16{tls.TLS_CHACHA20_POLY1305_SHA256}
	defaultCipherSuitesTLS13NoAES = defaultCipherSuitesTLS13
}
