#!/usr/bin/env bash
# Builds and runs the examples of every package. An example asserts what it shows, so its exit code tells whether it holds.
set -euo pipefail
cd "$(dirname "$0")/.."

# Measurements, which say how fast something is here and now: built, not run.
measurements=' speed '

# What an example writes goes into a folder of its own.
folder=$(mktemp -d)
list=$folder/list
trap 'rm -rf "$folder"' EXIT
# The profile of the tests, so that nothing is compiled twice; as programs: under `cargo test --examples` they would be test harnesses.
cargo build --locked --workspace --examples --profile test --message-format json-render-diagnostics |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    example = message.get("reason") == "compiler-artifact" and "example" in message["target"]["kind"]
    if example and message["executable"] and not message["profile"]["test"]:
        print(message["target"]["name"], message["executable"])
' | sort -u >"$list"

count=0
while read -r name executable; do
    case $measurements in *" $name "*) continue ;; esac
    printf '\n--- %s\n' "$name"
    (cd "$folder" && "$executable")
    count=$((count + 1))
done <"$list"
printf '\n%d examples hold\n' "$count"
# As many as there are files, so that none is left out.
files=$(git ls-files 'crates/*/examples/*.rs' | grep -cvE "/($(xargs <<<"$measurements" | tr ' ' '|'))\\.rs$")
if [ "$count" -ne "$files" ]; then
    echo "$files files of examples, $count run" >&2
    exit 1
fi
