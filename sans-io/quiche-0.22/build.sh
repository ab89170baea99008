#!/bin/sh
# Builds the endpoint; with QUICLAB_OPTION_ROLLBACK=off on a quiche whose CUBIC never takes a reduction of its window back, as
# ../../stacks/quiche-0.24/build.sh does it.
set -e
set -- --path . --root "$QUICLAB_STACK_OUT" --no-track
if [ "$QUICLAB_OPTION_ROLLBACK" = off ]; then
    cargo fetch --locked
    manifest=$(cargo metadata --locked --format-version 1 | python3 -c '
import json, sys
print(next(package["manifest_path"] for package in json.load(sys.stdin)["packages"] if package["name"] == "quiche"))')
    # Copies, because cargo notes in the lock file that the library has another source.
    copies="$CARGO_TARGET_DIR/patched"
    rm -rf "$copies"
    mkdir -p "$copies/endpoint"
    # What is built and what it links to, without what was built in these folders before.
    tar --create --dereference --exclude=./target --exclude='./*/target' --exclude='./*/*/target' . |
        tar --extract --directory "$copies/endpoint"
    cp -r "$(dirname "$manifest")" "$copies/quiche"
    patch --directory="$copies/quiche" --strip=1 --fuzz=0 <no-rollback.patch
    cd "$copies/endpoint"
    cargo install "$@" --offline --config "patch.crates-io.quiche.path = '$copies/quiche'"
else
    cargo install "$@" --locked
fi
mv "$QUICLAB_STACK_OUT/bin/quiche-sans-io" "$QUICLAB_STACK_OUT/"
rmdir "$QUICLAB_STACK_OUT/bin"
