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
case ${QUICLAB_PACING-user} in user) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" user ;; esac
case ${QUICLAB_HTTP-h3} in h3) ;; *) refuse "QUICLAB_HTTP: found '$QUICLAB_HTTP'" h3 ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac

www=${WWW-/www}
downloads=${DOWNLOADS-/downloads}
certs=${CERTS-/certs}
set -- --quiet --cc="$cca"
[ -z "${QLOGDIR-}" ] || set -- "$@" --qlog-dir="$QLOGDIR"

case ${ROLE-} in
server)
	exec gtlsserver "$@" --mime-types-file=/dev/null --htdocs="$www" 0.0.0.0 "$port" "$certs/priv.key" "$certs/cert.pem"
	;;
client) ;;
*) fail "ROLE: found '${ROLE-}', expected server or client" ;;
esac

first=
for url in ${REQUESTS-}; do
	case $url in https://?*/?*) ;; *) fail "REQUESTS: found '$url', expected https://HOST[:PORT]/FILE" ;; esac
	authority=${url#https://}
	authority=${authority%%/*}
	[ -n "${url##*/}" ] || fail "REQUESTS: found '$url', expected a file name at its end"
	[ "${first:=$authority}" = "$authority" ] || fail "REQUESTS: found host $authority, expected $first in every URL"
done
[ -n "$first" ] || fail "REQUESTS: found '${REQUESTS-}', expected at least one URL"
host=${first%%:*}
port=443
case $first in *:*) port=${first##*:} ;; esac

# gtlsclient exits with 0 whatever happens, but when quiet it writes to stderr only what went wrong. It does not verify the
# server's certificate: it has no option for that.
errors=${LOGS:-/tmp}/gtlsclient.errors
# shellcheck disable=SC2086 # REQUESTS is a list of words
gtlsclient "$@" --handshake-timeout=10s --exit-on-all-streams-close --download="$downloads" \
	"$host" "$port" $REQUESTS 2>"$errors" || fail "gtlsclient: found exit status $?, expected 0"
if [ -s "$errors" ]; then
	while IFS= read -r line || [ -n "$line" ]; do printf 'gtlsclient: %s\n' "$line" >&2; done <"$errors"
	exit 1
fi

# Nor does it tell the status of an answer: what it stored for a missing file is the server's error page.
for url in $REQUESTS; do
	stored=$downloads/${url##*/}
	[ -s "$stored" ] || fail "$url: found no body"
	case $(head -c 100 "$stored") in
	*'<title>'[45][0-9][0-9]' '* | '404 page not found'*) fail "$url: found an error page, expected the file" ;;
	esac
done
