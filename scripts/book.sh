#!/usr/bin/env bash
# The book: scripts/book.sh build | check | write [PAGE...] | plants
#
#   build   the site, into target/book, and its check: links, anchors, nothing loaded from elsewhere
#   check   every command, code block, link and number of the pages (scripts/book/check.py)
#   write   write what the commands print into the pages
#   plants  break each rule in a small book, and see that it is noticed
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# Kept in the user's cache, so that a new checkout does not build it again.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/contattn/tools
python=$(scripts/environment.sh)
export PATH="$target/release:$python/bin:$PATH:$tools/bin"
# One thread: the arrays are small.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

build() {
    if [ "$(mdbook --version 2>/dev/null)" != "mdbook v$version" ]; then
        echo "book: building mdbook $version into $tools (once)"
        CARGO_PROFILE_DEV_DEBUG=0 cargo install mdbook --version "$version" --locked --debug --root "$tools" --quiet \
            --no-default-features --features search
    fi
    rm -rf "$target/book"
    mdbook build docs --dest-dir "$target/book"
    python3 scripts/book/check.py --site "$target/book"
}

command=${1:?build, check, write or plants}
shift
case $command in
    build) build ;;
    check | write)
        cargo build --locked --release --package contattn
        if [ "$command" = write ]; then set -- --write "$@"; fi
        python3 scripts/book/check.py "$@"
        ;;
    plants) python3 scripts/book/check.py --plants ;;
    *) echo "book: build, check, write or plants, not '$command'" >&2 && exit 2 ;;
esac
