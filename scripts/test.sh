#!/usr/bin/env bash
# Every test of the workspace, with the number of them at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
# --all-targets leaves out documentation tests, and a package without a library has none.
{
    cargo test --locked --workspace --all-targets --no-fail-fast || echo 'targets failed'
    cargo test --locked --workspace --doc --no-fail-fast || echo 'targets failed'
} 2>&1 | tee "$log"
grep -q '^targets failed$' "$log" && status=1

# "test result: ok. 12 passed; 0 failed; 0 ignored; ..." of every target
awk '/^test result:/ { for (i = 1; i < NF; i++) { if ($(i+1) ~ /^passed/) p += $i; if ($(i+1) ~ /^failed/) f += $i; if ($(i+1) ~ /^ignored/) s += $i } }
     END { printf "%d passed, %d failed, %d skipped\n", p, f, s }' "$log"
exit "$status"
