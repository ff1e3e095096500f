#!/usr/bin/env bash
# Runs tests/cross in a virtual environment of its own, against the command as built in release.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
environment=$(scripts/environment.sh)
cargo build --locked --release --package contattn
# One thread: the arrays are small.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
python=("$environment/bin/python" -W error::RuntimeWarning)
"${python[@]}" tests/cross/corpus.py --golden tests/golden
"${python[@]}" tests/cross/arb_theorems.py --command "$target/release/contattn"
"${python[@]}" tests/cross/arb_command.py --command "$target/release/contattn"
"${python[@]}" tests/cross/cross.py --command "$target/release/contattn" "$@"
