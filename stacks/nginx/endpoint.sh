#!/bin/sh
# nginx's own QUIC as a quiclab endpoint: the server of Debian's nginx, for HTTP/3 and HTTP/0.9.
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
gso=${QUICLAB_GSO-off}
http=${QUICLAB_HTTP-h3}
ip=${QUICLAB_IP-4}
case ${ROLE-} in server) ;; client) refuse 'ROLE: found client' server ;; *) printf "ROLE: found '%s', expected server\n" "${ROLE-}" >&2; exit 1 ;; esac
case ${QUICLAB_CCA-reno} in reno) ;; *) refuse "QUICLAB_CCA: found '$QUICLAB_CCA'" reno ;; esac
case $gso in on | off) ;; *) refuse "QUICLAB_GSO: found '$gso'" 'on, off' ;; esac
case ${QUICLAB_PACING-off} in off) ;; *) refuse "QUICLAB_PACING: found '$QUICLAB_PACING'" off ;; esac
case $http in h3 | hq) ;; *) refuse "QUICLAB_HTTP: found '$http'" 'h3, hq' ;; esac
case ${QUICLAB_CERT_DELAY-0} in 0) ;; *) refuse "QUICLAB_CERT_DELAY: found '$QUICLAB_CERT_DELAY'" 0 ;; esac
case ${QUICLAB_STREAMS-1} in '' | 0* | *[!0-9]*) refuse "QUICLAB_STREAMS: found '$QUICLAB_STREAMS'" 'whole numbers from 1' ;; esac
case ${SERVER_PARAMS-}${CLIENT_PARAMS-} in '') ;; *) refuse 'SERVER_PARAMS or CLIENT_PARAMS: found some' none ;; esac
case $ip in
4) listen=0.0.0.0:$port ;;
6) listen="[::]:$port ipv6only=on" ;;
*) refuse "QUICLAB_IP: found '$ip'" '4, 6' ;;
esac
case ${TESTCASE-} in
handshake | transfer | resumption) extra= ;;
retry) extra='quic_retry on;' ;;
chacha20) extra='ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256;' ;;
http3)
	extra=
	[ "$http" = h3 ] || refuse "QUICLAB_HTTP: found '$http' for http3" h3
	;;
*) refuse "TESTCASE: found '${TESTCASE-}'" 'handshake, transfer, retry, chacha20, resumption, http3' ;;
esac
case $http in h3) extra="$extra http3 on; http3_hq off;" ;; hq) extra="$extra http3 off; http3_hq on;" ;; esac

www=${WWW-/www}
certs=${CERTS-/certs}
scratch=${TMPDIR-/tmp}/quiclab-nginx.$$

# One process, no log of requests, everything about sending as nginx has it by default, but for the bytes of a stream that may be
# unacknowledged: 64 KiB by default, which is a window of flow control.
{
	printf 'user root root;\ndaemon off;\nmaster_process off;\npid %s.pid;\nerror_log stderr warn;\n' "$scratch"
	printf 'events { worker_connections 1024; }\nhttp {\naccess_log off;\ndefault_type application/octet-stream;\n'
	for kind in client_body proxy fastcgi uwsgi scgi; do
		printf '%s_temp_path %s.%s;\n' "$kind" "$scratch" "$kind"
	done
	printf 'server {\nlisten %s quic;\nquic_gso %s;\n%s\nhttp3_stream_buffer_size 16m;\n' "$listen" "$gso" "$extra"
	printf 'ssl_certificate "%s/cert.pem";\nssl_certificate_key "%s/priv.key";\nroot "%s";\n}\n}\n' \
		"$certs" "$certs" "$www"
} >"$scratch.conf"
exec nginx -e stderr -c "$scratch.conf"
