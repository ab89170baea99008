#!/bin/sh
# Builds the endpoint with noq's qlog, and once more without it for tests of speed: see src/plain.rs.
set -e
set -- --path . --root "$QUICLAB_STACK_OUT" --no-track --locked
cargo install "$@" --no-default-features --features noq
mv "$QUICLAB_STACK_OUT/bin/noq-endpoint" "$QUICLAB_STACK_OUT/noq-endpoint-plain"
cargo install "$@" --force
mv "$QUICLAB_STACK_OUT/bin/noq-endpoint" "$QUICLAB_STACK_OUT/"
rmdir "$QUICLAB_STACK_OUT/bin"
