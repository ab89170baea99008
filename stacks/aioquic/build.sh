#!/bin/sh
# Leaves aioquic, what it needs and the endpoint in $QUICLAB_STACK_OUT/lib, compiled by the guest's own Python: the building
# machine's writes another format, and a start that compiles is several times slower.
set -eu
export SOURCE_DATE_EPOCH=1767225600 PYTHONHASHSEED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-compile --no-deps --require-hashes --only-binary=:all: \
    --implementation cp --python-version 3.13 --abi cp313 --abi abi3 --abi none \
    --platform manylinux_2_34_x86_64 --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --target "$work/lib" -r requirements.txt
# Programs with the path of this machine's Python; facts of this installation.
rm -rf "$work/lib/bin"
find "$work/lib" -path '*.dist-info/*' ! -ipath '*licen*' ! -name METADATA -type f -delete
cp -r __main__.py endpoint "$work/lib/"
find "$work/lib" -name __pycache__ -prune -exec rm -rf {} +

# "never looked at again": no run changes a source file, so none need read one. One process compiles all, in a fixed order.
cat > "$work/compile.py" << 'END'
import pathlib, py_compile
for source in sorted(pathlib.Path("/mnt/lib").rglob("*.py")):
    py_compile.compile(str(source), dfile=str(source).replace("/mnt/", "/stack/", 1), doraise=True,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
END
tar -C "$work" -cf "$work/sources.tar" lib compile.py
mmdebstrap --quiet --variant=minbase --include=python3-minimal --format=null \
    --customize-hook="tar-in $work/sources.tar /mnt" \
    --customize-hook='chroot "$1" python3 -I -S -B /mnt/compile.py' \
    --customize-hook="tar-out /mnt/lib $work/compiled.tar" trixie - > /dev/null
rm -rf "$work/lib"
tar -C "$work" -xf "$work/compiled.tar" --no-same-owner
rm -rf "$QUICLAB_STACK_OUT/lib"
mv "$work/lib" "$QUICLAB_STACK_OUT/lib"
