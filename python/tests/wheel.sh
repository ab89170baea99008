#!/bin/bash
# Installs the wheel in dist/ into an empty virtual environment, outside the repository and with nothing of it on any path, and uses it: the
# command, runs in the simulator and in a virtual machine, tables, a campaign whose workers are killed, and a notebook. wheel.sh WHEEL
set -euo pipefail

wheel=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
place=$(mktemp -d /tmp/quiclab-wheel-XXXXXX)
trap '[ -n "${KEEP:-}" ] || rm -rf "$place"' EXIT
cp "$here/wheel_use.py" "$place/"
cd "$place"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "$wheel[pandas,polars,duckdb,figures,campaign]" nbmake ipykernel
# What is left of the environment: a home for the caches of quiclab, cargo and rustup, and toolchains that are on the PATH, for stacks of the
# simulator. No variable of Python or quiclab.
path=$place/venv/bin:$PATH
clean() { env -i HOME="$HOME" PATH="$path" LANG=C.UTF-8 "$@"; }
clean quiclab --version
share=$place/venv/share/quiclab
clean quiclab run "$share/experiments/examples/lost-flight.toml" --testbed sim --filter stack=quinn --out sim
clean quiclab run "$share/experiments/examples/first.toml" --set stack.name=ngtcp2 --set tap.qlog=true --out vm
clean python wheel_use.py "$share"
cp -r "$share/notebooks" "$share/experiments" .
clean python -m pytest -q --nbmake notebooks/tcp_pacing.ipynb
