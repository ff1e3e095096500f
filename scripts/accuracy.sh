#!/usr/bin/env bash
# The accuracy of the tiled engine over many generated problems, as a table: scripts/accuracy.sh [PROBLEMS]
set -euo pipefail
cd "$(dirname "$0")/.."
PROBLEMS=${1:-10000} cargo test --locked --package contattn-cpu --test accuracy -- --nocapture
