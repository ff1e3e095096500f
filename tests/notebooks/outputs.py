"""Compares stored outputs with those of a run, leaving out what stands between the signs that mark measured things.

The prelude writes times and names of machines as ‹12.3 ms›, and the words for a figure that shows such numbers begin with ‹figure›.
Nothing else is left out: every other character and every byte of every other picture has to be the same.
"""

import base64
import difflib
import re
import struct

MEASURED = re.compile("‹[^›\n]*›")
MEASURED_FIGURE = "‹figure›"


def masked(text):
    return MEASURED.sub("‹›", text)


def normal(outputs):
    """Outputs as comparable data: masked, in one piece for each stream, without counters."""
    result = []
    for output in outputs:
        if output.output_type == "stream":
            if result and result[-1][0] == "stream" and result[-1][1] == output.name:
                result[-1] = ("stream", output.name, result[-1][2] + output.text)
            else:
                result.append(("stream", output.name, output.text))
        elif output.output_type == "error":
            result.append(("error", output.ename, output.evalue))
        else:
            data = {mime: text if isinstance(text, str) else "".join(text) for mime, text in output.data.items()}
            is_measured = MEASURED_FIGURE in data.get("text/plain", "")
            result.append(("shown", "", tuple(sorted((mime, form(mime, text, is_measured)) for mime, text in data.items()))))
    return [(kind, name, masked(what) if isinstance(what, str) else what) for kind, name, what in result]


def form(mime, text, is_measured):
    if mime == "image/png":
        return picture_size(text) if is_measured else "".join(text.split())
    return masked(text).strip()


def picture_size(encoded):
    """Width and height of a PNG: what stays of a picture whose content is measured."""
    data = base64.b64decode(encoded)
    if not data.startswith(b"\x89PNG"):
        return "not a PNG"
    return "{} x {} pixels".format(*struct.unpack(">II", data[16:24]))


def described(outputs):
    """Lines for a reader who wants to see what differs."""
    for kind, name, what in normal(outputs):
        if isinstance(what, str):
            yield from (f"{kind} {name}: {line}" for line in what.splitlines())
            continue
        for mime, text in what:
            if mime == "image/png" and len(text) > 100:
                yield f"{mime}: {len(text)} characters, hash {hash_of(text)}"
            else:
                yield from (f"{mime}: {line}" for line in text.splitlines())


def hash_of(text):
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stale(stored, fresh):
    """(number of the cell, differing lines) for each cell whose stored outputs are not those of the run."""
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type == "code" and normal(old.outputs) != normal(new.outputs):
            lines = difflib.unified_diff(list(described(old.outputs)), list(described(new.outputs)), "stored", "run", lineterm="", n=1)
            found.append((number, list(lines)))
    return found


def renewed(stored, fresh):
    """The stored notebook with the outputs of the run where those differ: measured numbers alone are no reason for a new file."""
    count = 0
    for old, new in zip(stored.cells, fresh.cells, strict=True):
        if old.cell_type != "code":
            continue
        count += 1
        if normal(old.outputs) != normal(new.outputs):
            old.outputs = [tidy(output) for output in new.outputs]
        for output in old.outputs:
            if "execution_count" in output:
                output.execution_count = count
        old.execution_count = count
    return stored


def tidy(output):
    if "data" in output:
        output.data = {mime: output.data[mime] for mime in sorted(output.data)}
        output.metadata = {}
    return output
