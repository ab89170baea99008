#!/bin/bash
# Waits until HOST:PORT takes a connection.
for ((attempt = 0; attempt < 100; attempt++)); do
    if (exec 3<> "/dev/tcp/${1%:*}/${1##*:}") 2> /dev/null; then exit 0; fi
    sleep 0.1
done
echo "$1 takes no connection" >&2
exit 1
