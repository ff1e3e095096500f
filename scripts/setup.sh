#!/usr/bin/env bash
# Sees to what a purpose needs of the system: scripts/setup.sh PURPOSE...
#
# Each line of the table is a need: for which purposes, how it is seen to be there, the Debian packages that bring it, and what
# it is for. Only what is missing is installed, through apt-get, as root or with sudo; where neither is to be had, what is
# missing is printed and the exit code is 1.
set -euo pipefail

# the purposes that compile the workspace; stands for BUILD in the table
builds='run test cross book notebooks bench'
# purposes            | there if this succeeds                      | Debian packages              | what for
needs='
BUILD                 | command -v cc                               | gcc libc6-dev                | a C compiler, which Rust links with
BUILD                 | make --version                              | make                         | make
BUILD                 | m4 --version                                | m4                           | m4, for the build of GMP below the verified reference
cross book notebooks bench | python3 -c "import venv, ensurepip"    | python3 python3-venv         | Python with virtual environments, for NumPy, SciPy, PyTorch, Jupyter
bench                 | command -v g++                              | g++                          | a C++ compiler, for what PyTorch compiles
bench                 | ls "$(python3 -c "import sysconfig; print(sysconfig.get_path(\"include\"))")/Python.h" | python3-dev | headers of Python, for the same
check                 | python3 --version                           | python3                      | Python, for the checks of the repository
check                 | git --version                               | git                          | git, which lists the files of the repository
'
needs=${needs//BUILD/$builds}

if [ $# -eq 0 ]; then
    echo "usage: $0 PURPOSE...    purposes: $(cut -d'|' -f1 <<<"$needs" | tr ' ' '\n' | sort -u | xargs)" >&2
    exit 2
fi
for purpose in "$@"; do
    if ! cut -d'|' -f1 <<<"$needs" | grep -qw -- "$purpose"; then
        echo "setup: no purpose is called '$purpose'" >&2
        exit 2
    fi
done

# Rust does not come from apt: Debian's is older than this project needs.
wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml" | head -n 1)
rust_is_there() {
    local found
    found=$(rustc --version 2>/dev/null | awk '{ print $2 }') && [ -n "$found" ] &&
        [ "$(printf '%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" = "$wanted" ]
}
for purpose in "$@"; do
    if grep -qw -- "$purpose" <<<"$builds"; then
        if ! command -v cargo >/dev/null || ! rust_is_there; then
            echo "setup: needs Rust $wanted or later (cargo and rustc), found: $(rustc --version 2>/dev/null || echo none)" >&2
            exit 1
        fi
    fi
done

missing=()
reasons=()
while IFS='|' read -r purposes test packages reason; do
    for purpose in "$@"; do
        if grep -qw -- "$purpose" <<<"$purposes"; then
            if ! bash -c "$test" >/dev/null 2>&1; then
                read -ra names <<<"$packages"
                missing+=("${names[@]}")
                reasons+=("  ${packages## }:${reason}")
            fi
            break
        fi
    done
done < <(grep '|' <<<"$needs")

[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: missing on this system:" >&2
printf '%s\n' "${reasons[@]}" | tr -s ' ' >&2

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
    # With a terminal sudo may ask for a password; without one it must not need any.
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
        as_root=(none)
    fi
fi
if ! command -v apt-get >/dev/null || [ "${as_root[*]}" = none ]; then
    echo "setup: install them (Debian's names: ${missing[*]}) and start again; this needs apt-get, and root or sudo" >&2
    exit 1
fi
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
echo "setup: installing ${missing[*]}" >&2
# An old package list is the usual reason for a first failure.
install >/dev/null 2>&1 || { "${as_root[@]}" apt-get update -q >/dev/null && install; } || {
    echo "setup: apt-get could not install ${missing[*]}" >&2
    exit 1
}
