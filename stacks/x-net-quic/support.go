package main

// choices are the values of a setting that this endpoint can honour; the first one is used where nothing is asked.
var choices = map[string][]string{
	"QUICLAB_CCA":          {"reno"},
	"QUICLAB_GSO":          {"off"},
	"QUICLAB_HTTP":         {"hq"},
	"QUICLAB_IP":           {"4", "6"},
	"QUICLAB_KEY_EXCHANGE": {"x25519", "x25519mlkem768"},
	"QUICLAB_PACING":       {"user"},
}

// testCases are the values of TESTCASE that each role can honour. Its server sends no session tickets; neither role has early
// data or version 2.
var testCases = map[string][]string{
	"server": {"handshake", "transfer", "retry", "chacha20", "perf"},
	"client": {"handshake", "transfer", "retry", "chacha20", "keyupdate", "resumption", "perf"},
}

// perfLoads are the values of QUICLAB_PERF_LOAD that the client can honour.
var perfLoads = []perfLoad{loadBulk, loadBidirectional, loadRequests, loadPeriodic, loadHandshakes}
