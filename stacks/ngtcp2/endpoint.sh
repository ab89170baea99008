#!/bin/sh
# ngtcp2's example programs as a quiclab endpoint: gtlsserver and gtlsclient of Debian, by ROLE.
#
# Shell builtins only, but for the program itself and one `head` per fetched file after the transfer: in the laboratory a
# fork costs more than a thousand packets. Exit status: 0 done, 1 failed, 127 asked for something this endpoint cannot do.

set -u

refuse() {
	printf '%s, this endpoint supports %s\n' "$1" "$2" >&2
	exit 127
}

fail() {
	printf '%s\n' "$1" >&2
	exit 1
}

# A setting that is not known here must be refused, not ignored. The shell's read drops the zero bytes between variables.
while IFS= read -r rest || [ -n "$rest" ]; do
	while :; do
		case $rest in *QUICLAB_*) rest=${rest#*QUICLAB_} ;; *) break ;; esac
		case $rest in
		CCA=* | CERT_DELAY=* | GSO=* | HTTP=* | IP=* | MTU=* | PACING=* | PORT=* | STREAMS=*) ;;
		*) refuse "QUICLAB_${rest%%=*}: found a setting unknown here" 'CCA, CERT_DELAY, GSO, HTTP, IP, MTU, PACING, PORT, STREAMS' ;;
		esac
	done
done </proc/self/environ

case ${ROLE-} in server | client) ;; *) fail "ROLE: found '${ROLE-}', expected server or client" ;; esac
cca=${QUICLAB_CCA-cubic}
port=${QUICLAB_PORT-443}
ip=${QUICLAB_IP-4}
case $cca in cubic | reno | bbr) ;; *) refuse "QUICLAB_CCA: found '$cca'" 'cubic, reno, bbr' ;; esac
case ${QUICLAB_GSO-on} in on) ;; *) refuse "QUICLAB_GSO: found '$QUICLAB_GSO'" on ;; esac
case ${QUICLAB_PACING-user} in user) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" user ;; esac
case ${QUICLAB_HTTP-h3} in h3) ;; *) refuse "QUICLAB_HTTP: found '$QUICLAB_HTTP'" h3 ;; esac
case $ip in 4 | 6) ;; *) refuse "QUICLAB_IP: found '$ip'" '4, 6' ;; esac
case $ROLE${QUICLAB_CERT_DELAY-0} in client* | server0) ;; *) refuse "QUICLAB_CERT_DELAY: found '$QUICLAB_CERT_DELAY'" 0 ;; esac
case ${QUICLAB_STREAMS-1} in '' | 0* | *[!0-9]*) refuse "QUICLAB_STREAMS: found '$QUICLAB_STREAMS'" 'whole numbers from 1' ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac

www=${WWW-/www}
downloads=${DOWNLOADS-/downloads}
certs=${CERTS-/certs}
scratch=${LOGS:-/tmp}/gtlsclient
set -- --quiet --cc="$cca"
# What the headers of IP and UDP leave of a packet.
case ${QUICLAB_MTU-} in
'') ;;
*[!0-9]*) refuse "QUICLAB_MTU: found '$QUICLAB_MTU'" 'numbers' ;;
*) [ $ip = 4 ] && headers=28 || headers=48; set -- "$@" --max-udp-payload-size=$((QUICLAB_MTU - headers)) ;;
esac
[ -z "${QLOGDIR-}" ] || set -- "$@" --qlog-dir="$QLOGDIR"

# The programs' own defaults but for the cipher suites and versions.
case $ROLE-${TESTCASE-} in
*-handshake | *-transfer | *-http3 | server-resumption | server-zerortt) ;;
server-retry) set -- "$@" --validate-addr ;;
client-retry | client-resumption | client-zerortt | client-multiconnect) ;;
*-chacha20) set -- "$@" --ciphers=NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+CHACHA20-POLY1305 ;;
client-keyupdate) set -- "$@" --key-update=1us ;; # counted from when the handshake is confirmed
server-v2) set -- "$@" --preferred-versions=v2,v1 --available-versions=v2,v1 ;;
# The address is the host's own, at another port.
server-connectionmigration) ;;
# To the server's preferred address by itself, if there is one; otherwise, and later, to another port of its own.
client-connectionmigration) set -- "$@" --change-local-addr=500ms ;;
client-v2) set -- "$@" --version=v1 --preferred-versions=v2,v1 --available-versions=v2,v1 ;;
*) refuse "TESTCASE: found '${TESTCASE-}'" 'handshake, transfer, retry, chacha20, keyupdate (client), resumption, zerortt, v2, http3, multiconnect (client), connectionmigration' ;;
esac

# find_address HOST: puts its first address of the IP version, from /etc/hosts, into $address.
find_address() {
	address=
	while read -r number names; do
		case $ip$number in ?'#'* | 4*:*) continue ;; 4*.* | 6*:*) ;; *) continue ;; esac
		for name in $names; do [ "$name" != "$1" ] || address=${address:-$number}; done
	done </etc/hosts
}

if [ "$ROLE" = server ]; then
	case $ip in 4) any=0.0.0.0 ;; 6) any=:: ;; esac
	if [ "$TESTCASE" = connectionmigration ]; then
		find_address "server$ip"
		[ -n "$address" ] || fail "/etc/hosts: found no IPv$ip address of server$ip, expected one to prefer"
		case $ip in
		4) set -- "$@" --preferred-ipv4-addr="$address:$((port + 1))" ;;
		6) set -- "$@" --preferred-ipv6-addr="[$address]:$((port + 1))" ;;
		esac
	fi
	exec gtlsserver "$@" --mime-types-file=/dev/null --htdocs="$www" "$any" "$port" "$certs/priv.key" "$certs/cert.pem"
fi

authority=
count=0
for url in ${REQUESTS-}; do
	case $url in https://?*/?*) ;; *) fail "REQUESTS: found '$url', expected https://HOST[:PORT]/FILE" ;; esac
	rest=${url#https://}
	rest=${rest%%/*}
	[ -n "${url##*/}" ] || fail "REQUESTS: found '$url', expected a file name at its end"
	[ "${authority:=$rest}" = "$rest" ] || fail "REQUESTS: found host $rest, expected $authority in every URL"
	count=$((count + 1))
done
[ $count -gt 0 ] || fail "REQUESTS: found '${REQUESTS-}', expected at least one URL"
# gtlsclient opens as many streams as the server lets it.
[ "${QUICLAB_STREAMS-$count}" -ge "$count" ] || refuse "QUICLAB_STREAMS: found $QUICLAB_STREAMS for $count URLs" 'as many as there are URLs'
host=${authority%%:*}
port=443
case $authority in *:*) port=${authority##*:} ;; esac

# gtlsclient has no option for the IP version, so it is told the address.
find_address "$host"
[ -n "$address" ] || fail "REQUESTS: found host $host, expected one that has an IPv$ip address in /etc/hosts"

# gtlsclient exits with 0 whatever happens, but when quiet it writes to stderr only what went wrong. It does not verify the
# server's certificate: it has no option for that.
# fetch OPTION... -- URL...: all over one connection.
fetch() {
	gtlsclient --sni="$host" --handshake-timeout=10s --exit-on-all-streams-close --download="$downloads" "$@" \
		2>"$scratch.errors" || fail "gtlsclient: found exit status $?, expected 0"
	failed=0
	while IFS= read -r line || [ -n "$line" ]; do
		printf 'gtlsclient: %s\n' "$line" >&2
		failed=1
	done <"$scratch.errors"
	[ $failed = 0 ] || exit 1
}

# shellcheck disable=SC2086 # REQUESTS is a list of words
case $TESTCASE in
resumption | zerortt)
	rm -f "$scratch.session" "$scratch.parameters"
	first=${REQUESTS%% *}
	rest=${REQUESTS#"$first"}
	fetch "$@" --session-file="$scratch.session" --tp-file="$scratch.parameters" --wait-for-ticket "$address" "$port" "$first"
	[ "$TESTCASE" = zerortt ] || set -- "$@" --disable-early-data
	[ -z "$rest" ] || fetch "$@" --session-file="$scratch.session" --tp-file="$scratch.parameters" "$address" "$port" $rest
	;;
multiconnect) for url in $REQUESTS; do fetch --handshake-timeout=60s "$@" "$address" "$port" "$url"; done ;; # the last option counts
*) fetch "$@" "$address" "$port" $REQUESTS ;;
esac

# Nor does it tell the status of an answer: what it stored for a missing file is the server's error page.
for url in $REQUESTS; do
	stored=$downloads/${url##*/}
	# An experiment that keeps nothing has devices here.
	[ -s "$stored" ] || [ -c "$stored" ] || fail "$url: found no body"
	case $(head -c 100 "$stored") in
	*'<title>'[45][0-9][0-9]' '* | '404 page not found'*) fail "$url: found an error page, expected the file" ;;
	esac
done
