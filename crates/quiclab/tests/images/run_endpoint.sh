#!/bin/bash
# An endpoint by the contract of the QUIC Interop Runner alone: whatever else it is told is an error.
fail() { echo "$1" >&2; exit 1; }
[ -z "${!QUICLAB_*}" ] || fail "found ${!QUICLAB_*}, expected none"
[ "$QLOGDIR" = /logs/qlog/ ] || fail "QLOGDIR: found $QLOGDIR"
[ -d "$QLOGDIR" ] || fail "$QLOGDIR is no folder"
[ "$SAID_BY" = "the image" ] || fail "SAID_BY: found $SAID_BY, expected the image's"
[ "$PWD" = /endpoint/here ] || fail "found folder $PWD, expected the image's"
[ "$1" = "from Cmd" ] || fail "found argument $1, expected the image's Cmd"
[ "$(stat -c %u:%g:%a /endpoint/quic-go)" = 0:0:755 ] || fail "the program is not root's"
[ ! -e /endpoint/gone ] || fail "/endpoint/gone is there in spite of its whiteout"

/setup.sh || fail "no routes"
# Without checksum offload the kernel cuts no batch apart.
export QUICLAB_GSO=off
case $TESTCASE in
    http3) export QUICLAB_HTTP=h3 ;;
    handshake | transfer | retry) export QUICLAB_HTTP=hq ;;
    *) exit 127 ;;
esac
case $ROLE in
    client)
        /wait-for-it.sh sim:57832 || fail "no simulator"
        case $REQUESTS in *server6*) export QUICLAB_IP=6 ;; esac
        ;;
    server)
        # One for each family: the program listens at one alone.
        QUICLAB_IP=4 ./../quic-go &
        export QUICLAB_IP=6
        ;;
esac
exec ../quic-go
