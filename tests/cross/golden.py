"""The golden corpus as NumPy sees it: problems of definition.py from the manifest and the files beside it."""

import json
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes  # noqa: F401 - makes bfloat16 known to NumPy
import numpy as np
from safetensors.numpy import load_file

from definition import Problem, Window


@dataclass
class Case:
    """An entry of the manifest, its problem as (B, H, sequence, width), and its tensors by name."""

    entry: dict
    problem: Problem
    tensors: dict

    @property
    def name(self):
        return self.entry["name"]

    def axes(self, x):
        """Heads before the sequence, and back."""
        return np.swapaxes(x, 1, 2) if self.entry["layout"] == "bshd" else x

    def upstream(self):
        """g and g_lse as float64."""
        g = self.axes(self.tensors["g"].astype(np.float64))
        return g, self.tensors["g_lse"].astype(np.float64)

    def expected(self, output):
        """(typed, f64) of (B, H, ...), as they are stored apart from the layout."""
        found = [self.tensors[self.entry["outputs"][output][key]] for key in ("tensor", "f64")]
        return [self.axes(x) if output in ("o", "dq", "dk", "dv") else x for x in found]


def edge(side, tensors, tensor):
    """An edge as definition.Window has it."""
    kind = side["kind"]
    if kind in ("start", "end"):
        return kind
    if kind == "rows":
        return "at", tensors[tensor]
    return ("at", side["time"]) if kind == "at" else (kind, side["width" if kind == "sliding" else "offset"])


def read(folder, entry):
    tensors = load_file(Path(folder) / entry["file"])
    assert set(entry["inputs"]) <= set(tensors), f"{entry['name']}: inputs are missing"
    swap = (lambda x: np.swapaxes(x, 1, 2)) if entry["layout"] == "bshd" else (lambda x: x)
    q, k, v = (swap(tensors[name].astype(np.float64)) for name in "qkv")
    given = entry["sink"] == "given"
    problem = Problem(
        q=q,
        k=k[:, :, 1:] if given else k,
        v=v[:, :, 1:] if given else v,
        sink=entry["sink"],
        sink_key=k[:, :, :1] if given else None,
        sink_value=v[:, :, :1] if given else None,
        rule=entry["rule"],
        window=Window(edge(entry["window"]["lower"], tensors, "lower_edges"), edge(entry["window"]["upper"], tensors, "upper_edges")),
        durations=tensors.get("durations"),
        times=tensors.get("times"),
        query_times=tensors.get("query_times"),
        mask=tensors.get("key_mask"),
        documents=tensors.get("documents"),
        query_documents=tensors.get("query_documents"),
        scale=entry["scale"],
        dtype=entry["dtype"],
    )
    return Case(entry, problem, tensors)


def manifest(folder):
    return json.loads((Path(folder) / "manifest.json").read_text())


def cases(folder):
    for entry in manifest(folder)["cases"]:
        yield read(folder, entry)
