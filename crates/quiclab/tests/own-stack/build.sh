#!/bin/sh
# Builds the endpoint on a patched quinn-proto. QUICLAB_OPTION_BUCKET is how many packets the pacer's bucket holds;
# QUICLAB_OPTION_FRAME=strange puts a frame of an unknown type first in every 1-RTT packet.
set -e
cargo fetch --locked
manifest=$(cargo metadata --locked --format-version 1 | python3 -c '
import json, sys
print(next(package["manifest_path"] for package in json.load(sys.stdin)["packages"] if package["name"] == "quinn-proto"))')
# Copies, because cargo notes in the lock file that the library has another source.
copies="$CARGO_TARGET_DIR/patched"
rm -rf "$copies"
mkdir -p "$copies"
cp -rL . "$copies/endpoint"
rm -rf "$copies/endpoint/target"
cp -r "$(dirname "$manifest")" "$copies/quinn-proto"
sed "s/= BUCKET;/= $QUICLAB_OPTION_BUCKET;/" bucket.patch | patch --directory="$copies/quinn-proto" --strip=1 --fuzz=0
if [ "$QUICLAB_OPTION_FRAME" = strange ]; then
    patch --directory="$copies/quinn-proto" --strip=1 --fuzz=0 <strange-frame.patch
fi
cd "$copies/endpoint"
cargo install --path . --root "$QUICLAB_STACK_OUT" --no-track --offline \
    --config "patch.crates-io.quinn-proto.path = '$copies/quinn-proto'"
mv "$QUICLAB_STACK_OUT/bin/quinn-endpoint" "$QUICLAB_STACK_OUT/"
rmdir "$QUICLAB_STACK_OUT/bin"
