package main

// choices are the values of a setting that this endpoint can honour; the first one is used where nothing is asked.
var choices = map[string][]string{
	"QUICLAB_CCA":          {"reno"},
	"QUICLAB_GSO":          {"on", "off"},
	"QUICLAB_HTTP":         {"h3", "hq"},
	"QUICLAB_IP":           {"4", "6"},
	"QUICLAB_KEY_EXCHANGE": {"x25519", "x25519mlkem768"},
	"QUICLAB_PACING":       {"user"},
}

// testCases are the values of TESTCASE that each role can honour. A server has no v2: quic-go does not change a connection's
// version (RFC 9368, section 2.3), it takes the one that the client begins with.
var testCases = map[string][]string{
	"server": {"handshake", "transfer", "retry", "chacha20", "resumption", "zerortt", "http3", "perf"},
	"client": {"handshake", "transfer", "retry", "chacha20", "keyupdate", "resumption", "zerortt", "v2", "http3", "multiconnect", "connectionmigration", "perf"},
}

// perfLoads are the values of QUICLAB_PERF_LOAD that the client can honour.
var perfLoads = []perfLoad{loadBulk, loadBidirectional, loadRequests, loadPeriodic, loadHandshakes}
