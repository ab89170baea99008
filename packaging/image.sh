#!/bin/bash
# Makes an OCI image from a release, without a daemon and without a registry of images: Debian comes from its package archive.
#
#   packaging/image.sh RELEASE OUT.TAR
#
# RELEASE is the folder that packaging/dist.sh has made. BASE=docker.io/library/debian:bookworm-slim takes an image of a registry as the base.
# Needs root, or a user with subordinate ids, and the Debian packages buildah and mmdebstrap.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

if [ $# != 2 ]; then
    echo "usage: packaging/image.sh RELEASE OUT.TAR" >&2
    exit 2
fi
cd "$(dirname "$0")"
release=$(cd "$OLDPWD" && realpath "$1")
mkdir -p "$(cd "$OLDPWD" && dirname "$2")"
out=$(cd "$OLDPWD" && realpath "$2")
if ! ls "$release"/quiclab_*_amd64.deb > /dev/null 2>&1; then
    echo "packaging/image.sh: $release: found no quiclab_VERSION_amd64.deb, expected a release: make dist" >&2
    exit 1
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(basename "$release"/quiclab_*_amd64.deb | cut -d_ -f2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
own() { buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }

base=${BASE:-}
if [ -z "$base" ]; then
    echo "Debian" >&2
    mmdebstrap --quiet --variant=minbase --include=ca-certificates \
        --dpkgopt=path-exclude=/usr/share/doc/* --dpkgopt=path-include=/usr/share/doc/*/copyright \
        --dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/locale/* \
        --customize-hook='rm -rf "$1"/var/log/* "$1"/var/cache/ldconfig/aux-cache' bookworm "$work/base.tar"
    base=localhost/debian:bookworm
    empty=$(own from scratch)
    own add --quiet "$empty" "$work/base.tar" / > /dev/null
    own commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$empty" "$base" > /dev/null
    own rm "$empty" > /dev/null
    rm "$work/base.tar"
fi
echo "quiclab $version" >&2
# Only these files are of use in the image.
mkdir "$work/context"
find "$release" -maxdepth 1 \( -name 'quiclab_*_amd64.deb' -o -name 'quiclab-prepared-*.zip' \) -exec cp -t "$work/context" {} +
own build --quiet --isolation chroot --timestamp "$SOURCE_DATE_EPOCH" --build-arg BASE="$base" --file Dockerfile \
    --tag "localhost/quiclab:$version" "$work/context" > /dev/null
rm -f "$out"
own push --quiet "localhost/quiclab:$version" "oci-archive:$work/image.tar:localhost/quiclab:$version"
# The archive has the time at which it was packed, so it is packed again.
mkdir "$work/image"
tar --extract --file "$work/image.tar" --directory "$work/image"
rm "$work/image.tar"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$work/image" \
    --file "$out" blobs index.json oci-layout
ls -l "$out" >&2
