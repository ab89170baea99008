#!/bin/sh
# OpenSSL's QUIC as a quiclab endpoint: the client of Debian's curl, for HTTP/3 by OpenSSL and nghttp3.
#
# Shell builtins only, but for the program itself: in the laboratory a fork costs more than a thousand packets.
# Exit status: 0 done, 1 failed, 127 asked for something this endpoint cannot do.

set -u

refuse() {
	printf '%s, this endpoint supports %s\n' "$1" "$2" >&2
	exit 127
}

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

case ${ROLE-} in client) ;; server) refuse 'ROLE: found server' client ;; *) fail "ROLE: found '${ROLE-}', expected client" ;; esac
case ${TESTCASE-} in
handshake | transfer | retry | chacha20 | http3) ;;
*) refuse "TESTCASE: found '${TESTCASE-}'" 'handshake, transfer, retry, chacha20, http3' ;;
esac

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

ip=${QUICLAB_IP-4}
case ${QUICLAB_CCA-reno} in reno) ;; *) refuse "QUICLAB_CCA: found '$QUICLAB_CCA'" reno ;; esac
case ${QUICLAB_GSO-off} in off) ;; *) refuse "QUICLAB_GSO: found '$QUICLAB_GSO'" off ;; esac
case ${QUICLAB_PACING-off} in off) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" off ;; esac
case ${QUICLAB_HTTP-h3} in h3) ;; *) refuse "QUICLAB_HTTP: found '$QUICLAB_HTTP'" h3 ;; esac
case $ip in 4 | 6) ;; *) refuse "QUICLAB_IP: found '$ip'" '4, 6' ;; esac
case ${QUICLAB_STREAMS-1} in '' | 0* | *[!0-9]*) refuse "QUICLAB_STREAMS: found '$QUICLAB_STREAMS'" 'whole numbers from 1' ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac

certs=${CERTS-/certs}
count=0
for url in ${REQUESTS-}; do
	case $url in https://?*/?*) ;; *) fail "REQUESTS: found '$url', expected https://HOST[:PORT]/FILE" ;; esac
	[ -n "${url##*/}" ] || fail "REQUESTS: found '$url', expected a file name at its end"
	count=$((count + 1))
done
[ $count -gt 0 ] || fail "REQUESTS: found '${REQUESTS-}', expected at least one URL"

# It tries to connect for 10 s, and stops after 30 s without a byte; 22 is its exit status for an answer that is an error, 18 for
# a short body.
set -- --disable --fail-early --silent --show-error --fail "-$ip" --http3-only --cacert "$certs/ca.pem" --connect-timeout 10 \
	--speed-limit 1 --speed-time 30 --output-dir "${DOWNLOADS-/downloads}" --remote-name-all
[ "$TESTCASE" != chacha20 ] || set -- "$@" --tls13-ciphers TLS_CHACHA20_POLY1305_SHA256

# With more than a server allows, curl would open a second connection.
streams=${QUICLAB_STREAMS-$count}
[ "$streams" -le 100 ] || streams=100
[ "$count" -eq 1 ] || [ "$streams" -eq 1 ] || set -- "$@" --parallel --parallel-max "$streams"
# An ICMP message is the end of an attempt to connect, and not one that --retry-connrefused knows: status 7.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	status=0
	# shellcheck disable=SC2086 # REQUESTS is a list of words
	curl "$@" $REQUESTS || status=$?
	[ $status = 7 ] && [ $attempt -lt 10 ] || break
	sleep 1
done
[ $status = 0 ] || fail "curl: found exit status $status, expected 0"
