#!/usr/bin/env bash
# Our kernels beside PyTorch's in one run: builds the command, installs PyTorch into the target folder, and hands over to
# scripts/bench/run.py with the arguments given. The first run fetches some 3 GB, which unpack to 6 GB.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
environment=$target/bench-venv-torch
pins=scripts/bench/requirements.txt

if ! cmp -s "$pins" "$environment/requirements.txt"; then
    echo "bench: installing PyTorch below $target, for this measurement alone" >&2
    rm -rf "$environment"
    mkdir -p "$target"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --only-binary :all: --requirement "$pins"
    cp "$pins" "$environment/requirements.txt"
fi
cargo build --locked --release --package contattn
exec "$environment/bin/python" scripts/bench/run.py --command "$target/release/contattn" "$@"
