#!/bin/sh
# Builds picotls and picoquic from the source archive of aiopquic, unchanged, and the endpoint over them. With the argument `test` it
# runs the endpoint's tests instead.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 fetch.py "$work/archive.tar.gz"
tar -C "$work" -xzf "$work/archive.tar.gz" --no-same-owner --strip-components=2 \
    aiopquic-0.6.1/third_party/picoquic aiopquic-0.6.1/third_party/picotls
mkdir "$work/build"

# Folders that change from build to build stay out of the program.
flags="-ffile-prefix-map=$work=."
if [ "${QUICLAB_OPTION_WAIT:-poll}" = select ]; then
    flags="$flags -DPICOQUIC_USES_SELECT"
fi
case ${QUICLAB_OPTION_PROFILE:-release} in
release) type=Release ;;
dev) type=Debug ;;
*)  echo "profile: found ${QUICLAB_OPTION_PROFILE}, expected release or dev" >&2; exit 1 ;;
esac
{
    cmake -S "$work/picotls" -B "$work/build/picotls" -DCMAKE_BUILD_TYPE=$type -DCMAKE_C_FLAGS="$flags" \
        -DWITH_FUSION=OFF -DWITH_DTRACE=OFF -DCMAKE_DISABLE_FIND_PACKAGE_BROTLI=ON
    cmake --build "$work/build/picotls" --parallel --target picotls-core picotls-openssl picotls-minicrypto
    cmake -S "$work/picoquic" -B "$work/build/picoquic" -DCMAKE_BUILD_TYPE=$type -DCMAKE_C_FLAGS="$flags" \
        -DPTLS_INCLUDE_DIR="$work/picotls/include" \
        -DPTLS_CORE_LIBRARY="$work/build/picotls/libpicotls-core.a" \
        -DPTLS_OPENSSL_LIBRARY="$work/build/picotls/libpicotls-openssl.a" \
        -DPTLS_MINICRYPTO_LIBRARY="$work/build/picotls/libpicotls-minicrypto.a" \
        -Dpicoquic_BUILD_TESTS=OFF -DBUILD_DEMO=OFF -DBUILD_PQBENCH=OFF
    cmake --build "$work/build/picoquic" --parallel --target picoquic-core picoquic-log picohttp-core
} > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }

export PICOQUIC_SOURCE="$work/picoquic" PICOQUIC_BUILD="$work/build"
if [ "${1:-}" = test ]; then
    CARGO_TARGET_DIR="$work/target" cargo test --locked --quiet
    exit
fi
CARGO_TARGET_DIR="$work/target" cargo install --path . --root "$work/out" --locked --no-track --ignore-rust-version
install -m 755 "$work/out/bin/"* "$QUICLAB_STACK_OUT/"
