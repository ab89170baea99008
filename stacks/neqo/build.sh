#!/bin/sh
# Builds NSS and neqo from Debian's source package firefox-esr, unchanged, and the endpoint over them. With arguments it runs that command
# instead, in the folder where cargo finds everything: `sh build.sh cargo test`. The program for the simulator is built by the same script.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The archive is long, so what is needed of it stays beside cargo's objects.
objects=${CARGO_TARGET_DIR:-$work/target}
sources=$objects/firefox-esr-140.12.0.tar
mkdir -p "$objects"
[ -f "$sources" ] || python3 fetch.py "$sources"
tar -C "$work" -xf "$sources"

case ${QUICLAB_OPTION_PROFILE:-release} in
release) profile=optimized target=Release; optimized=-o ;;
dev) profile=dev target=Debug; optimized= ;;
*)  echo "profile: found ${QUICLAB_OPTION_PROFILE}, expected release or dev" >&2; exit 1 ;;
esac

# NSS looks for NSPR beside itself. Folders that change from build to build stay out of the program. Built libraries stay beside cargo's
# objects too, until this script changes.
mv "$work/nsprpub" "$work/security/nspr"
libraries=$objects/nss-$target-$(cksum < build.sh | cut -d ' ' -f 1).tar
if [ -f "$libraries" ]; then
    tar -C "$work/security" -xf "$libraries"
else
    flags="-ffile-prefix-map=$work=."
    (
        cd "$work/security/nss"
        # shellcheck disable=SC2086 # no word where there is no option
        CFLAGS=$flags CXXFLAGS=$flags ./build.sh $optimized --static -Ddisable_tests=1
    ) > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
    tar -C "$work/security" -chf "$libraries.new" dist
    mv "$libraries.new" "$libraries"
fi

# cargo derives the names of symbols from paths below its workspace, which are the same in every folder.
tar --create --dereference --exclude=./target --exclude='./*/target' --exclude='./*/*/target' . | tar --extract --directory "$work"
mv "$work/third_party/rust" "$work/vendor"
export NSS_DIR="$work/security/nss" NSS_TARGET=$target NSS_PREBUILT=1 CARGO_TARGET_DIR="$work/target"
separator=$(printf '\037')
flags=-Ctarget-feature=+crt-static
# That of a program for the simulator, as its .cargo/config.toml has it.
[ ! -d common ] || flags="$flags$separator--cfg${separator}getrandom_backend=\"custom\""
CARGO_ENCODED_RUSTFLAGS="${CARGO_ENCODED_RUSTFLAGS:-$flags}$separator--remap-path-prefix=$work=."
export CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET=x86_64-unknown-linux-gnu
cd "$work"
if [ $# -gt 0 ]; then
    "$@"
    exit
fi
cargo build --locked --ignore-rust-version --profile $profile
[ $profile = dev ] && profile=debug
program=$(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
install -m 755 "$work/target/$CARGO_BUILD_TARGET/$profile/$program" "$QUICLAB_STACK_OUT/"
