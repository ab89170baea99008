#!/bin/bash
# Makes a release from a finished build: the command with the agent in it, an archive with all that it reads, a Debian package, an SBOM, the
# licences, and hashes of them. The same build gives the same bytes: times are those of SOURCE_DATE_EPOCH, owners are root, order is by name.
#
#   packaging/dist.sh FOLDER_OF_BINARIES OUT
#
# OUT also gets an archive of prepared things where PREPARE is set: arguments of `quiclab tools prepare`, such as
# "experiments/quic-steps/baseline.toml --profile quick", or "all" for every stack.
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

if [ $# != 2 ]; then
    echo "usage: packaging/dist.sh FOLDER_OF_BINARIES OUT" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
binaries=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
for program in quiclab quiclab-agent; do
    if [ ! -x "$binaries/$program" ]; then
        echo "packaging/dist.sh: $binaries/$program: not found; expected a finished build: make build" >&2
        exit 1
    fi
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=quiclab-$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Everything gets the release's time, so that tar and dpkg-deb write the same bytes.
settle() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }
squeeze() { gzip --best --no-name; }

# The command, the agent, its length and a mark: see crates/testbed/src/vm/agent.rs.
echo "command with its agent" >&2
{
    cat "$binaries/quiclab" "$binaries/quiclab-agent"
    perl -e 'print pack("Q<", -s $ARGV[0]), "quiclab-agent-1\n"' "$binaries/quiclab-agent"
} > "$work/quiclab"
chmod 755 "$work/quiclab"

# What the command reads: files of the repository, with links followed, which names in the cache do as well.
echo "stacks and experiments" >&2
share=$work/tree/usr/share/quiclab
mkdir -p "$share"
git ls-files -z stacks sans-io experiments kernel | xargs -0 cp --recursive --dereference --parents --target-directory "$share"
find "$share" -name target -prune -exec rm -rf {} +
chmod -R u=rwX,go=rX "$share"

echo "manual pages and completions" >&2
"$binaries/quiclab" tools man "$work/tree/usr/share/man/man1"
for page in "$work"/tree/usr/share/man/man1/*.1; do squeeze < "$page" > "$page.gz"; rm "$page"; done
completions() { mkdir -p "$(dirname "$2")"; "$binaries/quiclab" tools completions "$1" > "$2"; }
completions bash "$work/tree/usr/share/bash-completion/completions/quiclab"
completions zsh "$work/tree/usr/share/zsh/vendor-completions/_quiclab"
completions fish "$work/tree/usr/share/fish/vendor_completions.d/quiclab.fish"
install -D -m 755 "$work/quiclab" "$work/tree/usr/bin/quiclab"

echo "SBOM and licences" >&2
doc=$work/tree/usr/share/doc/quiclab
mkdir -p "$doc"
packaging/sbom.py "$version" "$out/$name.spdx.json" "$work/LICENCES.txt"
cp packaging/copyright "$doc/copyright"
squeeze < CHANGELOG.md > "$doc/changelog.gz"
squeeze < "$work/LICENCES.txt" > "$doc/LICENCES.txt.gz"
cp LIMITATIONS.md README.md "$doc/"
cp "$work/LICENCES.txt" "$out/$name-LICENCES.txt"

echo "Debian package" >&2
mkdir "$work/tree/DEBIAN"
size=$(du --summarize --apparent-size --block-size=1024 "$work/tree/usr" | cut -f1)
sed -e "s/@VERSION@/$version/" -e "s/@SIZE@/$size/" packaging/control > "$work/tree/DEBIAN/control"
(cd "$work/tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
settle "$work/tree"
dpkg-deb --root-owner-group -Zxz --build "$work/tree" "$out/quiclab_${version}_amd64.deb" > /dev/null

echo "archive for other distributions" >&2
rm -r "$work/tree/DEBIAN"
mv "$work/tree/usr" "$work/$name"
settle "$work/$name"
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$work" "$name" \
    | xz --threads=1 -6 > "$out/$name-x86_64-linux.tar.xz"
install -m 755 "$work/quiclab" "$out/quiclab"

if [ -n "${PREPARE:-}" ]; then
    echo "prepared things" >&2
    rm -f "$out"/quiclab-prepared-*.zip
    if [ "$PREPARE" = all ]; then PREPARE=; fi
    # Words of a command line.
    # shellcheck disable=SC2086
    "$binaries/quiclab" prepare $PREPARE --to "$out" > /dev/null
fi

(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum > SHA256SUMS)
ls -l "$out" >&2
