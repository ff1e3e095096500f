#!/usr/bin/env python3
"""Runs the notebooks and compares what they show with what is stored in them.

    run.py [NOTEBOOK...]             all of notebooks/, or these
    run.py --write [NOTEBOOK...]     store what differs
    run.py --plants                  see that every kind of failure is noticed
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import nbformat

from execute import execute
from outputs import renewed, stale

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "notebooks"
LARGEST = 500_000  # bytes of a file that a code host still shows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--plants", action="store_true")
    parser.add_argument("notebooks", nargs="*", type=Path)
    args = parser.parse_args()
    if args.plants:
        import plants

        return plants.main()
    for path in args.notebooks:
        if not path.is_file():
            parser.error(f"there is no notebook {path}; paths are relative to the repository, as notebooks/5-kernels.ipynb")
    failed = 0
    began = time.monotonic()
    for path in args.notebooks or sorted(FOLDER.glob("*.ipynb")):
        failed += not check(path, args.write)
    print(f"notebooks: {time.monotonic() - began:.0f} s, {failed} failed" if failed else f"notebooks: {time.monotonic() - began:.0f} s, all hold")
    return 1 if failed else 0


def check(path, write):
    began = time.monotonic()
    use_locked_versions()
    stored = nbformat.read(path, as_version=4)
    fresh, wrong = execute(stored, FOLDER)
    for number, text in wrong:
        print(f"  {path.name}, cell {number}: {text}")
    different = [] if wrong else stale(stored, fresh)
    if different and write:
        save(renewed(stored, fresh), path)
        print(f"  {path.name}: stored the outputs of {len(different)} cells")
        different = []
    for number, lines in different:
        print(f"  {path.name}, cell {number}: what is stored is not what the cell shows")
        for line in lines[:30]:
            print(f"    {line[:200]}")
    too_large = path.stat().st_size > LARGEST
    if too_large:
        print(f"  {path.name}: {path.stat().st_size} bytes, more than {LARGEST}")
    holds = not (wrong or different or too_large)
    print(f"{'ok    ' if holds else 'FAILED'} {path.name}: {len(fresh.cells)} cells, {time.monotonic() - began:.0f} s", flush=True)
    return holds


def use_locked_versions():
    """The kernel's own package takes the project's locked versions of everything below the prelude."""
    folder = os.environ.get("EVCXR_TMPDIR")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "Cargo.lock", Path(folder) / "Cargo.lock")


def save(notebook, path):
    aside = path.with_suffix(".tmp")
    aside.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    os.replace(aside, path)


if __name__ == "__main__":
    sys.exit(main())
