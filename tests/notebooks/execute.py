"""Runs a notebook in the evcxr kernel, and says what went wrong in it.

The kernel's reply to a cell that panics, fails an assertion or leaves by `?` can be "ok". So the outputs are looked at: nothing in a
notebook that works is of type `error`, an `Err` as a result, or written to standard error, and every cell with code was run.

What a cell writes to standard error goes through a thread of the kernel's own and may come when the cell is done: nbclient then passes
over it. So every message is looked at, also those.
"""

import contextlib
import copy
import queue
import re
import subprocess

from jupyter_client.utils import ensure_async
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

# The first cell of the first notebook compiles the crates.
SECONDS_FOR_A_CELL = 3600
# After each cell, for what comes late to come before the next one begins, to which the kernel would count it.
SECONDS_OF_SILENCE = 0.1
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def execute(notebook, folder):
    """A copy of the notebook with the outputs of this run, and a list of (number of the cell, what was wrong)."""
    fresh = copy.deepcopy(notebook)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    late = Late()
    client = NotebookClient(
        fresh,
        on_notebook_start=lambda notebook: late.listen(client.kc.iopub_channel),
        on_cell_executed=late.cell_is_done,
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
        return fresh, [*faults(fresh), *late.faults(fresh), (None, f"{type(error).__name__}: {error}")]
    return fresh, [*faults(fresh), *late.faults(fresh)]


class Late:
    """What was written to standard error, by the request that it is counted to."""

    def __init__(self):
        self.written = {}
        self.cell_of = {}
        self.channel = None

    def listen(self, channel):
        self.channel = channel
        receive = channel.get_msg

        async def get_msg(*args, **more):
            message = await ensure_async(receive(*args, **more))
            if message["msg_type"] == "stream" and message["content"]["name"] == "stderr":
                request = message["parent_header"].get("msg_id")
                self.written[request] = self.written.get(request, "") + message["content"]["text"]
            return message

        channel.get_msg = get_msg

    async def cell_is_done(self, cell, cell_index, execute_reply):
        self.cell_of[execute_reply["parent_header"]["msg_id"]] = cell_index
        with contextlib.suppress(queue.Empty):
            while True:
                await self.channel.get_msg(timeout=SECONDS_OF_SILENCE)

    def faults(self, notebook):
        """What is not among the outputs of its cell."""
        for request, text in self.written.items():
            number = self.cell_of.get(request)
            outputs = [] if number is None else notebook.cells[number].outputs
            if not any(output.output_type == "stream" and output.name == "stderr" for output in outputs):
                yield number, f"standard error, late: {plain(text)}"


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
