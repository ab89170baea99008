#!/bin/sh
# Builds the endpoint of ../quic-go with first_ack.go, on a quic-go that has first-ack.patch.
set -e
library=github.com/quic-go/quic-go
copies="$CARGO_TARGET_DIR/patched"
rm -rf "$copies"
mkdir -p "$copies"
# Copies, because go.mod notes that the library has another source. The path there is relative, and so is what the program says of it.
cp -rL ../quic-go "$copies/endpoint"
cp first_ack.go "$copies/endpoint/"
patch="$PWD/first-ack.patch"
cd "$copies/endpoint"
# Downloads what is missing, and compares it with go.sum.
go mod download
cp -r "$(go list -m -f '{{.Dir}}' "$library")" "$copies/quic-go"
chmod -R u+w "$copies/quic-go"
patch --directory="$copies/quic-go" --strip=1 --fuzz=0 <"$patch"
go mod edit -replace "$library=../quic-go"
CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags=-w -o "$QUICLAB_STACK_OUT/quic-go-endpoint" .
