#!/usr/bin/env bash
# Runs tests/cross in a virtual environment of its own, against the command as built in release.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
environment=$target/cross-venv
pins=tests/cross/requirements.txt

if ! cmp -s "$pins" "$environment/requirements.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --requirement "$pins"
    cp "$pins" "$environment/requirements.txt"
fi
cargo build --locked --release --package contattn
# One thread: the arrays are small.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python=("$environment/bin/python" -W error::RuntimeWarning)
"${python[@]}" tests/cross/corpus.py --golden tests/golden
"${python[@]}" tests/cross/arb_theorems.py --command "$target/release/contattn"
"${python[@]}" tests/cross/arb_command.py --command "$target/release/contattn"
"${python[@]}" tests/cross/cross.py --command "$target/release/contattn" "$@"
