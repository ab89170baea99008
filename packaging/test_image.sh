#!/bin/bash
# Runs an OCI image as nobody in particular: another user id, no capabilities, no network, a volume at /data.
#
#   packaging/test_image.sh IMAGE.TAR [WORDS OF THE COMMAND...]
#
# Without words: the version, then one transfer and its report. Needs root and the Debian packages podman and runc.
set -euo pipefail

if [ $# = 0 ]; then
    echo "usage: packaging/test_image.sh IMAGE.TAR [WORDS OF THE COMMAND...]" >&2
    exit 2
fi
archive=$(realpath "$1")
shift
work=$(mktemp -d)
data=${DATA:-$work/data}
mkdir -p "$data"
chmod 777 "$data"
# Podman cleans up after a container when that has ended, and meanwhile writes locks again.
clean() {
    for _ in 1 2 3 4 5 6 7 8; do
        rm -rf "$work" 2> /dev/null && return
        sleep 1
    done
    echo "packaging/test_image.sh: $work could not be removed" >&2
}
trap clean EXIT
# The host's limits: the usual ones are above those of some machines.
printf '[containers]\ndefault_ulimits = []\n' > "$work/containers.conf"
export CONTAINERS_CONF=$work/containers.conf
own() { podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs --runtime runc --cgroup-manager cgroupfs "$@"; }
own load --quiet --input "$archive" > /dev/null
image=$(own images --format '{{.ID}}' | head -n 1)
run() {
    own run --rm --network none --ulimit host --user 12345:12345 --cap-drop all --security-opt no-new-privileges \
        --volume "$data:/data" "$image" "$@"
}
if [ $# != 0 ]; then
    run "$@"
    exit
fi
run --version
cat > "$data/first.toml" << 'END'
name = "first"
title = "One transfer of 1 MiB"
[stack]
name = "quic-go"
[workload]
size = "1 MiB"
repetitions = 1
END
run run first.toml --out out
grep -q '<html' "$data/out/report.html"
[ "$(stat --format=%u "$data/out/report.html")" = 12345 ]
echo "the image works"
