"""Runs a notebook in the evcxr kernel, and says what went wrong in it.

The kernel's reply to a cell that panics, fails an assertion or leaves by `?` can be "ok". So the outputs are looked at: nothing in a
notebook that works is of type `error`, an `Err` as a result, or written to standard error, and every cell with code was run.
"""

import copy
import re
import subprocess

from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

# The first cell of the first notebook compiles the crates.
SECONDS_FOR_A_CELL = 3600
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def execute(notebook, folder):
    """A copy of the notebook with the outputs of this run, and a list of (number of the cell, what was wrong)."""
    fresh = copy.deepcopy(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        fresh,
        timeout=SECONDS_FOR_A_CELL,
        startup_timeout=1200,
        kernel_name="rust",
        allow_errors=True,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        # What the kernel says of itself on standard output is nobody's result.
        client.execute(stdout=subprocess.DEVNULL)
    except (CellTimeoutError, DeadKernelError) as error:
        return fresh, [*faults(fresh), (None, f"{type(error).__name__}: {error}")]
    return fresh, faults(fresh)


def faults(notebook):
    """What is wrong in the outputs of a notebook that was run: (number of the cell, text)."""
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        if cell.execution_count is None:
            found.append((number, "was not run"))
        for output in cell.outputs:
            if output.output_type == "error":
                found.append((number, f"error: {plain(output.evalue)} {plain(' '.join(output.traceback))}".strip()))
            elif output.output_type == "stream" and output.name == "stderr":
                found.append((number, f"standard error: {plain(output.text)}"))
            elif "data" in output and "".join(output.data.get("text/plain", "")).startswith("Err("):
                found.append((number, f"the result is an error: {plain(''.join(output.data['text/plain']))}"))
    return found


def plain(text):
    return COLOURS.sub("", text).strip()
