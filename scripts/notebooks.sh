#!/usr/bin/env bash
# Runs the notebooks in a kernel and a virtual environment of their own, both below cargo's target folder:
# scripts/notebooks.sh [--write] [--plants] [NOTEBOOK...]
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
version=0.22.0
kernel=$target/evcxr
environment=$target/notebooks-venv
pins=tests/notebooks/requirements.txt

if ! grep -qs "^\"evcxr_jupyter $version " "$kernel/.crates.toml"; then
    echo "notebooks: building the kernel, evcxr_jupyter $version, into $kernel (once; some minutes)"
    # Nearly all of it is rust-analyzer, which finds the types of a cell's variables. When a kernel starts it reads the standard
    # library: without any optimisation for a minute of the processor. Its features for editors are never called.
    unused=()
    for package in ra_ap_ide ra_ap_ide_assists ra_ap_ide_completion ra_ap_ide_db ra_ap_ide_diagnostics ra_ap_ide_ssr; do
        unused+=(--config "profile.release.package.$package.opt-level=0")
    done
    CARGO_TARGET_DIR=$kernel/build CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=false \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        cargo install --locked --quiet "${unused[@]}" --root "$kernel" "evcxr_jupyter@$version"
    rm -rf "$kernel/build"
fi
if ! cmp -s "$pins" "$environment/requirements.txt"; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --requirement "$pins"
    cp "$pins" "$environment/requirements.txt"
fi
# The description by which Jupyter finds the kernel, and the kernel its description.
export JUPYTER_PATH=$environment/share/jupyter
"$kernel/bin/evcxr_jupyter" --install >/dev/null

# One folder for all notebooks, so that the crates are compiled once.
export EVCXR_TMPDIR=$target/notebooks
# Settings of the user's own Jupyter and evcxr have no part in this.
export JUPYTER_CONFIG_DIR=$environment/etc/jupyter JUPYTER_DATA_DIR=$environment/share/jupyter EVCXR_CONFIG_DIR=$environment/etc/evcxr
# Cells that start Python get the one with NumPy.
export PATH=$environment/bin:$PATH
exec python3 tests/notebooks/run.py "$@"
