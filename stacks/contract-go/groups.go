package main

import "crypto/tls"

// groups are the key exchanges that a client can be limited to, by their names in the endpoint contract.
var groups = map[string][]tls.CurveID{
	"x25519":         {tls.X25519},
	"x25519mlkem768": {tls.X25519MLKEM768},
}
