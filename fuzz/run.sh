#!/usr/bin/env bash
# Fuzzes the readers of tensor files: fuzz/run.sh [SECONDS_PER_TARGET]
#
# New inputs go to fuzz/target/corpus, so fuzz/corpus keeps the small seeds that are in the repository. A finding stays
# in fuzz/artifacts/TARGET and fails the run.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-20}

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo 'skipped: fuzz (no nightly toolchain)'
    exit 0
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    cargo install cargo-fuzz --locked
fi

for target in safetensors npy npz locator; do
    mkdir -p "target/corpus/$target"
    log="target/$target.log"
    # Inputs of a few kilobytes: whatever takes more memory than this was not backed by the file.
    if ! cargo +nightly fuzz run --fuzz-dir . "$target" "target/corpus/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -malloc_limit_mb=64 -max_len=8192 \
        -print_funcs=0 -print_final_stats=1 >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzz: $target: a finding, or it did not build (fuzz/$log)"
        exit 1
    fi
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
    echo "fuzz: $target: $inputs inputs in $seconds s, no finding, at most $memory MB"
done
