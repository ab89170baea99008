#!/bin/sh
# TCP and TLS 1.3 with HTTP/2 as a quiclab endpoint: nginx and curl of Debian, by ROLE. TCP is the kernel's.
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

[ "${TESTCASE-}" = transfer ] || refuse "TESTCASE: found '${TESTCASE-}'" transfer

# A setting that is not known here must be refused, not ignored. The shell's read drops the zero bytes between variables.
while IFS= read -r rest || [ -n "$rest" ]; do
	while :; do
		case $rest in *QUICLAB_*) rest=${rest#*QUICLAB_} ;; *) break ;; esac
		case $rest in
		CCA=* | GSO=* | HTTP=* | PACING=* | PORT=*) ;;
		*) refuse "QUICLAB_${rest%%=*}: found a setting unknown here" 'CCA, GSO, HTTP, PACING, PORT' ;;
		esac
	done
done </proc/self/environ

cca=${QUICLAB_CCA-cubic}
port=${QUICLAB_PORT-443}
case $cca in cubic | reno | bbr) ;; *) refuse "QUICLAB_CCA: found '$cca'" 'cubic, reno, bbr' ;; esac
case ${QUICLAB_GSO-on} in on) ;; *) refuse "QUICLAB_GSO: found '$QUICLAB_GSO'" on ;; esac
case ${QUICLAB_PACING-off} in off) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" off ;; esac
case ${QUICLAB_HTTP-h2} in h2) ;; *) refuse "QUICLAB_HTTP: found '$QUICLAB_HTTP'" h2 ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac
case ${ROLE-} in server | client) ;; *) fail "ROLE: found '${ROLE-}', expected server or client" ;; esac

# One setting for the whole network namespace, so it is touched only where it differs.
control=/proc/sys/net/ipv4/tcp_congestion_control
read -r current <$control || fail "$control: cannot be read"
if [ "$current" != "$cca" ]; then
	{ printf '%s\n' "$cca" >$control; } 2>/dev/null || refuse "QUICLAB_CCA: found $cca" "what this kernel has: $current"
fi

www=${WWW-/www}
downloads=${DOWNLOADS-/downloads}
certs=${CERTS-/certs}
scratch=${TMPDIR-/tmp}/quiclab-tcp-tls.$$

if [ "$ROLE" = server ]; then
	# One process, no log of requests, everything about sending as nginx has it by default.
	{
		printf 'daemon off;\nmaster_process off;\npid %s.pid;\nerror_log stderr warn;\n' "$scratch"
		printf 'events { worker_connections 64; }\nhttp {\naccess_log off;\ndefault_type application/octet-stream;\n'
		for kind in client_body proxy fastcgi uwsgi scgi; do
			printf '%s_temp_path %s.%s;\n' "$kind" "$scratch" "$kind"
		done
		printf 'server {\nlisten %s ssl;\nhttp2 on;\nssl_protocols TLSv1.3;\n' "$port"
		printf 'ssl_certificate "%s/cert.pem";\nssl_certificate_key "%s/priv.key";\nroot "%s";\n}\n}\n' \
			"$certs" "$certs" "$www"
	} >"$scratch.conf"
	exec nginx -e stderr -c "$scratch.conf"
fi

[ -n "${REQUESTS-}" ] || fail "REQUESTS: found '', expected at least one URL"
for url in $REQUESTS; do
	case $url in https://?*/?*) ;; *) fail "REQUESTS: found '$url', expected https://HOST[:PORT]/FILE" ;; esac
	[ -n "${url##*/}" ] || fail "REQUESTS: found '$url', expected a file name at its end"
done
# curl falls back to HTTP/1.1 in silence, so it writes down which version each answer came in. It tries to
# connect for 10 s, and stops after 30 s without a byte; 22 is its exit status for an answer that is an error, 18 for a
# short body.
# shellcheck disable=SC2086 # REQUESTS is a list of words
curl --disable --silent --show-error --fail --http2 --tlsv1.3 --cacert "$certs/ca.pem" --connect-timeout 10 \
	--retry 10 --retry-delay 1 --retry-max-time 10 --retry-connrefused \
	--speed-limit 1 --speed-time 30 --write-out "%output{>>$scratch.versions}%{http_version}\n" \
	--output-dir "$downloads" --remote-name-all $REQUESTS || fail "curl: found exit status $?, expected 0"
while read -r version; do
	[ "$version" = 2 ] || fail "found HTTP/$version, expected HTTP/2"
done <"$scratch.versions"
