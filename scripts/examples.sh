#!/usr/bin/env bash
# Builds and runs the examples of every package. An example asserts what it shows, so its exit code tells whether it holds.
set -euo pipefail
cd "$(dirname "$0")/.."

# Measurements, which say how fast something is here and now: built, not run.
measurements=' speed '

list=$(mktemp)
trap 'rm -f "$list"' EXIT
# The profile of the tests, so that nothing is compiled twice.
cargo test --locked --workspace --examples --no-run --message-format json-render-diagnostics |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("reason") == "compiler-artifact" and "example" in message["target"]["kind"] and message["executable"]:
        print(message["target"]["name"], message["executable"])
' | sort -u >"$list"

count=0
while read -r name executable; do
    case $measurements in *" $name "*) continue ;; esac
    printf '\n--- %s\n' "$name"
    "$executable"
    count=$((count + 1))
done <"$list"
printf '\n%d examples hold\n' "$count"
[ "$count" -gt 0 ]
