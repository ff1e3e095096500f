#!/usr/bin/env bash
# Makes the virtual environment of the Python checks under the target folder, if it is not there as pinned, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
environment=$target/cross-venv
pins=tests/cross/requirements.txt

if ! cmp -s "$pins" "$environment/requirements.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --requirement "$pins" >&2
    cp "$pins" "$environment/requirements.txt"
fi
echo "$environment"
