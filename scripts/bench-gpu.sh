#!/usr/bin/env bash
# Builds the command with its GPU engine alone, lists the adapters, then checks every variant of the kernels against the CPU and
# times it: scripts/bench-gpu.sh [OPTION OF contattn bench gpu]...
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

# Without the verified reference, so that neither GMP nor a C compiler for it is needed.
cargo build --locked --release --package contattn --no-default-features --features gpu
began=$SECONDS
"$target"/release/contattn devices
"$target"/release/contattn bench gpu "$@"
echo "checked and timed in $((SECONDS - began)) s, after a build of $began s"
