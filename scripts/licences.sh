#!/usr/bin/env bash
# Licences, bans and sources of every dependency, by deny.toml.
#
# The advisory database is not asked: it lies in a git repository that builds cannot count on reaching.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.20.2

# Kept in the user's cache, so that a new checkout does not build it again.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/contattn/tools
export PATH="$PATH:$tools/bin"
if ! cargo deny --version >/dev/null 2>&1; then
    echo "licences: building cargo-deny $version into $tools (once)"
    # Its release profile spends minutes on optimising a program that runs for a second.
    CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --version "$version" --locked --debug --root "$tools" --quiet
fi
cargo deny --locked check --hide-inclusion-graph licenses bans sources
echo 'licences, bans and sources hold; advisories were not asked (their database is not on a package registry)'
