#!/bin/sh
# TCP and TLS 1.3 with HTTP/2 as a quiclab endpoint: nginx and curl of Debian, by ROLE. TCP is the kernel's. The test case perf, which is no
# HTTP, is a program of its own, which reads all settings itself.
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

case ${TESTCASE-} in
transfer | handshake | chacha20 | resumption) ;;
perf) exec "${0%/*}/tcp-perf" ;;
*) refuse "TESTCASE: found '${TESTCASE-}'" 'transfer, handshake, chacha20, resumption, perf' ;;
esac

# A setting that is not known here must be refused, not ignored. The shell's read drops the zero bytes between variables.
while IFS= read -r rest || [ -n "$rest" ]; do
	while :; do
		case $rest in *QUICLAB_*) rest=${rest#*QUICLAB_} ;; *) break ;; esac
		case $rest in
		CCA=* | CCA_SET=* | CERT_DELAY=* | GSO=* | HTTP=* | HYSTART=* | IP=* | PACING=* | PORT=* | STREAMS=*) ;;
		*) refuse "QUICLAB_${rest%%=*}: found a setting unknown here" 'CCA, CCA_SET, CERT_DELAY, GSO, HTTP, HYSTART, IP, PACING, PORT, STREAMS' ;;
		esac
	done
done </proc/self/environ

cca=${QUICLAB_CCA-cubic}
port=${QUICLAB_PORT-443}
ip=${QUICLAB_IP-4}
case $cca in cubic | reno | bbr) ;; *) refuse "QUICLAB_CCA: found '$cca'" 'cubic, reno, bbr' ;; esac
case ${QUICLAB_GSO-on} in on) ;; *) refuse "QUICLAB_GSO: found '$QUICLAB_GSO'" on ;; esac
case ${QUICLAB_PACING-off} in off) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" off ;; esac
case ${QUICLAB_HTTP-h2} in h2) ;; *) refuse "QUICLAB_HTTP: found '$QUICLAB_HTTP'" h2 ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac
case $ip in 4 | 6) ;; *) refuse "QUICLAB_IP: found '$ip'" '4, 6' ;; esac
case ${ROLE-} in server | client) ;; *) fail "ROLE: found '${ROLE-}', expected server or client" ;; esac
case $ROLE${QUICLAB_CERT_DELAY-0} in client* | server0) ;; *) refuse "QUICLAB_CERT_DELAY: found '$QUICLAB_CERT_DELAY'" 0 ;; esac
case ${QUICLAB_STREAMS-1} in '' | 0* | *[!0-9]*) refuse "QUICLAB_STREAMS: found '$QUICLAB_STREAMS'" 'whole numbers from 1' ;; esac

# One setting for the whole network namespace, so it is touched only where it differs. Where this user may not, the routes have it.
control=/proc/sys/net/ipv4/tcp_congestion_control
read -r current <$control || fail "$control: cannot be read"
if [ "$current" != "$cca" ] && [ "${QUICLAB_CCA_SET-}" != route ]; then
	{ printf '%s\n' "$cca" >$control; } 2>/dev/null || refuse "QUICLAB_CCA: found $cca" "what this kernel has: $current"
fi

www=${WWW-/www}
downloads=${DOWNLOADS-/downloads}
certs=${CERTS-/certs}
scratch=${TMPDIR-/tmp}/quiclab-tcp-tls.$$

# The kernel's HyStart is the older one, not HyStart++, of CUBIC only, and one setting for the whole machine.
case $cca-${QUICLAB_HYSTART-} in
*- | reno-off) ;;
cubic-on | cubic-off)
	[ "$QUICLAB_HYSTART" = off ] && hystart=0 || hystart=1
	control=/sys/module/tcp_cubic/parameters/hystart
	read -r current <$control || fail "$control: cannot be read"
	if [ "$current" != $hystart ]; then
		{ printf '%s\n' $hystart >$control; } 2>/dev/null || refuse "QUICLAB_HYSTART: found $QUICLAB_HYSTART" "what this kernel has: $current"
	fi
	;;
*) refuse "QUICLAB_HYSTART: found '$QUICLAB_HYSTART' with $cca" 'on or off with cubic, off with reno' ;;
esac

if [ "$ROLE" = server ]; then
	# One process, no log of requests, everything about sending as nginx has it by default.
	{
		printf 'user root root;\ndaemon off;\nmaster_process off;\npid %s.pid;\nerror_log stderr warn;\n' "$scratch"
		printf 'events { worker_connections 64; }\nhttp {\naccess_log off;\ndefault_type application/octet-stream;\n'
		for kind in client_body proxy fastcgi uwsgi scgi; do
			printf '%s_temp_path %s.%s;\n' "$kind" "$scratch" "$kind"
		done
		case $ip in
		4) printf 'server {\nlisten 0.0.0.0:%s ssl;\n' "$port" ;;
		6) printf 'server {\nlisten [::]:%s ssl ipv6only=on;\n' "$port" ;;
		esac
		printf 'http2 on;\nssl_protocols TLSv1.3;\n'
		[ "$TESTCASE" != chacha20 ] || printf 'ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256;\n'
		printf 'ssl_certificate "%s/cert.pem";\nssl_certificate_key "%s/priv.key";\nroot "%s";\n}\n}\n' \
			"$certs" "$certs" "$www"
	} >"$scratch.conf"
	exec nginx -e stderr -c "$scratch.conf"
fi

count=0
for url in ${REQUESTS-}; do
	case $url in https://?*/?*) ;; *) fail "REQUESTS: found '$url', expected https://HOST[:PORT]/FILE" ;; esac
	[ -n "${url##*/}" ] || fail "REQUESTS: found '$url', expected a file name at its end"
	count=$((count + 1))
done
[ $count -gt 0 ] || fail "REQUESTS: found '${REQUESTS-}', expected at least one URL"

# curl falls back to HTTP/1.1 in silence, so it writes down which version each answer came in. It tries to
# connect for 10 s, and stops after 30 s without a byte; 22 is its exit status for an answer that is an error, 18 for a
# short body.
set -- --silent --show-error --fail "-$ip" --http2 --tlsv1.3 --cacert "$certs/ca.pem" --connect-timeout 10 \
	--retry 10 --retry-delay 1 --retry-max-time 10 --retry-connrefused \
	--speed-limit 1 --speed-time 30 --write-out "%output{>>$scratch.versions}%{http_version}\n" \
	--output-dir "$downloads" --remote-name-all
[ "$TESTCASE" != chacha20 ] || set -- "$@" --tls13-ciphers TLS_CHACHA20_POLY1305_SHA256

# With more than a server allows (nginx: 128), curl would open a second connection.
streams=${QUICLAB_STREAMS-$count}
[ "$streams" -le 100 ] || streams=100
# shellcheck disable=SC2086 # REQUESTS is a list of words
if [ "$TESTCASE" = resumption ] && [ $count -gt 1 ]; then
	# A connection that need not leave from certain ports is no use for a request that must, so there is a second one. TLS
	# sessions are kept for the whole process. One request after the other: `--parallel` would not wait for the first.
	first=${REQUESTS%% *}
	rest=${REQUESTS#"$first"}
	curl --disable --fail-early "$@" "$first" --next "$@" --local-port 1024-65535 $rest
elif [ $count -gt 1 ] && [ "$streams" -gt 1 ]; then
	curl --disable --fail-early --parallel --parallel-max "$streams" "$@" $REQUESTS
else
	curl --disable --fail-early "$@" $REQUESTS
fi || fail "curl: found exit status $?, expected 0"
while read -r version; do
	[ "$version" = 2 ] || fail "found HTTP/$version, expected HTTP/2"
done <"$scratch.versions"
