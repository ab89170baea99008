#!/bin/bash
# What an endpoint does first in the network of the QUIC Interop Runner: its routes, and checksums of its own.
set -e
if command -v ethtool > /dev/null; then ethtool -K eth0 tx off; fi
read -r v4 v6 _ <<< "$(hostname -I)"
# The gateway has address 2 in each network; nothing but it is a neighbour then.
route add -net 193.167.0.0 netmask 255.255.0.0 gw "${v4%.*}.2"
route del -net "${v4%.*}.0" netmask 255.255.255.0
ip -6 route add fd00:cafe:cafe::/48 via "${v6%:*}:2"
ip -6 route del "${v6%:*}:/64"
