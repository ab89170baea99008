#!/bin/sh
# HAProxy's QUIC as a quiclab endpoint: the server of Debian's haproxy, for HTTP/3 and HTTP/0.9, with files.lua to read files.
#
# Shell builtins only, but for the program itself: in the laboratory a fork costs more than a thousand packets.
# Exit status: 0 done, 1 failed, 127 asked for something this endpoint cannot do.

set -u

refuse() {
	printf '%s, this endpoint supports %s\n' "$1" "$2" >&2
	exit 127
}

# A setting that is not known here must be refused, not ignored. The shell's read drops the zero bytes between variables.
while IFS= read -r rest || [ -n "$rest" ]; do
	while :; do
		case $rest in *QUICLAB_*) rest=${rest#*QUICLAB_} ;; *) break ;; esac
		case $rest in
		CCA=* | CERT_DELAY=* | GSO=* | HTTP=* | IP=* | PACING=* | PORT=* | STREAMS=*) ;;
		*) refuse "QUICLAB_${rest%%=*}: found a setting unknown here" 'CCA, CERT_DELAY, GSO, HTTP, IP, PACING, PORT, STREAMS' ;;
		esac
	done
done </proc/self/environ

port=${QUICLAB_PORT-443}
http=${QUICLAB_HTTP-h3}
ip=${QUICLAB_IP-4}
case ${ROLE-} in server) ;; client) refuse 'ROLE: found client' server ;; *) printf "ROLE: found '%s', expected server\n" "${ROLE-}" >&2; exit 1 ;; esac
case ${QUICLAB_CCA-cubic} in
cubic) control=cubic ;;
reno) control=newreno ;;
*) refuse "QUICLAB_CCA: found '$QUICLAB_CCA'" 'cubic, reno' ;;
esac
case ${QUICLAB_GSO-off} in off) ;; *) refuse "QUICLAB_GSO: found '$QUICLAB_GSO'" off ;; esac
case ${QUICLAB_PACING-off} in off) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" off ;; esac
case ${QUICLAB_CERT_DELAY-0} in 0) ;; *) refuse "QUICLAB_CERT_DELAY: found '$QUICLAB_CERT_DELAY'" 0 ;; esac
case ${QUICLAB_STREAMS-1} in '' | 0* | *[!0-9]*) refuse "QUICLAB_STREAMS: found '$QUICLAB_STREAMS'" 'whole numbers from 1' ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac
case $http in
h3) alpn=h3 ;;
hq) alpn=hq-interop ;;
*) refuse "QUICLAB_HTTP: found '$http'" 'h3, hq' ;;
esac
case $ip in
4) address="quic4@0.0.0.0:$port" ;;
6) address="quic6@[::]:$port v6only" ;;
*) refuse "QUICLAB_IP: found '$ip'" '4, 6' ;;
esac
case ${TESTCASE-} in
handshake | transfer | v2 | resumption) extra= ;;
retry) extra=quic-force-retry ;;
chacha20) extra='ciphersuites TLS_CHACHA20_POLY1305_SHA256' ;;
http3)
	extra=
	[ "$http" = h3 ] || refuse "QUICLAB_HTTP: found '$http' for http3" h3
	;;
*) refuse "TESTCASE: found '${TESTCASE-}'" 'handshake, transfer, retry, chacha20, resumption, v2, http3' ;;
esac

www=${WWW-/www}
certs=${CERTS-/certs}
configuration=${TMPDIR-/tmp}/quiclab-haproxy.$$.cfg

# One process with one thread, no logs, everything about sending as HAProxy has it by default, but for the most that may be in flight: 30
# buffers of 16 kB by default, which is less than a window of congestion control may be.
{
	printf 'global\nlimited-quic\nnbthread 1\nmaxconn 64\ntune.quic.frontend.conn-tx-buffers.limit 1024\n'
	printf 'tune.lua.service-timeout 1h\nlua-load "%s/files.lua" "%s"\n' "${0%/*}" "$www"
	printf 'crt-store endpoint\nload crt "%s/cert.pem" key "%s/priv.key" alias certificate\n' "$certs" "$certs"
	printf 'defaults\nmode http\ntimeout client 30s\ntimeout server 30s\ntimeout connect 5s\n'
	printf 'frontend files\nbind %s ssl crt @endpoint/certificate alpn %s quic-cc-algo %s(16m) %s\n' "$address" "$alpn" "$control" "$extra"
	printf 'http-request use-service lua.files\n'
} >"$configuration"
exec haproxy -db -f "$configuration"
