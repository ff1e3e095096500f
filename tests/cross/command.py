"""Drives the command: problems out as files, results in as arrays."""

import subprocess
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from problems import DTYPES

CONTAINERS = ["npz", "safetensors", "npy", "npy fortran", "npy big-endian"]


class Refused(Exception):
    """The command ended with another code than 0."""


class Command:
    """The binary, and a folder for its files."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.calls = Path(binary), Path(folder), 0
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments):
        self.calls += 1
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Refused(f"exit code {done.returncode} of {' '.join(map(str, arguments))}\n{done.stderr.strip()}")
        return done.stdout

    def path(self, name):
        path = self.folder / name
        path.unlink(missing_ok=True)
        return path

    def write(self, stem, arrays, container):
        """Files of a container that hold these arrays; locators by name."""
        if container == "npz":
            path = self.path(f"{stem}.npz")
            np.savez(path, **arrays)
            return {name: f"{path}:{name}" for name in arrays}
        if container == "safetensors":
            path = self.path(f"{stem}.safetensors")
            save_file({name: np.ascontiguousarray(x) for name, x in arrays.items()}, path)
            return {name: f"{path}:{name}" for name in arrays}
        locators = {}
        for name, x in arrays.items():
            locators[name] = self.path(f"{stem}-{name}.npy")
            if "fortran" in container:
                x = np.asfortranarray(x)
            if "big-endian" in container:
                x = x.astype(x.dtype.newbyteorder(">"))
            np.save(locators[name], x)
        return locators

    def read(self, stem, names, container):
        """(options, how to load afterwards) for results in a container."""
        if container.startswith("npy"):
            files = {name: self.path(f"{stem}-out-{name}.npy") for name in names}
            return files, lambda: {name: np.load(path) for name, path in files.items()}
        if container == "npz":
            path = self.path(f"{stem}-out.npz")

            def load():
                with np.load(path) as archive:
                    return {name: archive[name] for name in names}

            return {name: f"{path}:{name}" for name in names}, load
        path = self.path(f"{stem}-out.safetensors")
        return {name: f"{path}:{name}" for name in names}, lambda: load_file(path)


class Shapes:
    """A layout and a rank: how (B, H, sequence, width) lies in files, and the way back."""

    def __init__(self, layout, rank):
        self.layout, self.rank = layout, rank

    def stored(self, x):
        x = np.swapaxes(x, 1, 2) if self.layout == "bshd" else x
        if self.rank == 3:
            x = x[0]
        if self.rank == 2:
            x = x.reshape(-1, x.shape[-1])
        return x

    def rows(self, x):
        """(B, H, queries, ...), which the layout does not concern."""
        return x.reshape(x.shape[4 - self.rank :])

    def back(self, x, shape):
        """To (B, H, sequence, width) of this shape."""
        x = np.asarray(x).astype(np.float64)
        if self.layout == "bshd":
            swapped = (shape[0], shape[2], shape[1], shape[3])
            expected = self.stored(np.empty(shape)).shape
            assert x.shape == expected, f"shape {x.shape}, expected {expected}"
            return np.swapaxes(x.reshape(swapped), 1, 2)
        assert x.shape == shape[4 - self.rank :], f"shape {x.shape}, expected {shape[4 - self.rank:]}"
        return x.reshape(shape)

    def rows_back(self, x, shape):
        x = np.asarray(x).astype(np.float64)
        assert x.shape == shape[4 - self.rank :], f"shape {x.shape}, expected {shape[4 - self.rank:]}"
        return x.reshape(shape)


def window_text(window):
    """(text, arrays of edges by option)"""
    edges = {}

    def part(edge, default):
        if edge == default:
            return default
        kind, x = edge
        if kind == "at" and np.ndim(x):
            edges["lower-edges" if default == "start" else "upper-edges"] = x
            return default
        if kind == "at":
            return repr(float(x))
        if kind == "sliding":
            return f"t-{float(x)!r}"
        return "t" if x == 0 else f"t{float(x):+}" if x > 0 else f"t-{-float(x)!r}"

    lower, upper = part(window.lower, "start"), part(window.upper, "end")
    return f"{lower}..{upper}", edges


def options(command, stem, problem, rule, shapes, container):
    """The options that state a problem, its files written."""
    kind = DTYPES[problem.dtype]
    k, v = problem.k, problem.v
    if problem.sink == "given":
        k = np.concatenate([problem.sink_key, k], axis=2)
        v = np.concatenate([problem.sink_value, v], axis=2)
    tensors = {"q": problem.q, "k": k, "v": v}
    files = command.write(stem, {name: shapes.stored(x).astype(kind) for name, x in tensors.items()}, container)
    text, edges = window_text(problem.window)
    series = {
        "durations": problem.durations,
        "times": problem.times,
        "query-times": problem.query_times,
        "mask": problem.mask,
        "documents": problem.documents,
        "query-documents": problem.query_documents,
        **edges,
    }
    given = {name: np.asarray(x) for name, x in series.items() if x is not None}
    files |= command.write(f"{stem}-series", given, "npz") if given else {}
    arguments = [f"--{name}={file}" for name, file in files.items()]
    arguments += [f"--window={text}", f"--sink={problem.sink}", f"--rule={rule}", f"--layout={shapes.layout}"]
    if problem.scale is not None:
        arguments.append(f"--scale={problem.scale!r}")
    return arguments


def attend(command, stem, problem, rule, shapes, container, *more):
    """o, lse, weights and bias of the command, as float64 of our shapes."""
    arguments = options(command, stem, problem, rule, shapes, container)
    names = {"out": "o", "lse": "lse", "weights": "weights", "bias": "bias"}
    files, load = command.read(stem, list(names.values()), container)
    command.run("attend", *arguments, *(f"--{flag}={files[name]}" for flag, name in names.items()), *more)
    found = load()
    b, h, _, n_q, n = problem.lengths
    return {
        "o": shapes.back(found["o"], (b, h, n_q, problem.v.shape[3])),
        "lse": shapes.rows_back(found["lse"], (b, h, n_q)),
        "weights": shapes.rows_back(found["weights"], (b, h, n_q, n + 1)),
        "bias": shapes.rows_back(found["bias"], (b, h, n_q, n + 1)),
    }


def grad(command, stem, problem, rule, shapes, container, upstream_o, upstream_lse, *more):
    """The gradients of the command, by the names of `allowance.backward`."""
    arguments = options(command, stem, problem, rule, shapes, container)
    kind = DTYPES[problem.dtype]
    above = {"do": shapes.stored(upstream_o).astype(kind)}
    above_rows = {"dlse": shapes.rows(upstream_lse)}
    files = command.write(f"{stem}-do", above, container) | command.write(f"{stem}-dlse", above_rows, "npz")
    arguments += [f"--{name}={file}" for name, file in files.items()]
    names = ["dq", "dk", "dv"] + ([] if problem.rule.startswith("taylor") else ["ddurations"])
    targets, load = command.read(stem, names, container)
    command.run("grad", *arguments, *(f"--{name}={targets[name]}" for name in names), *more)
    found = load()
    b, h, g, n_q, n = problem.lengths
    d, c = problem.q.shape[3], problem.v.shape[3]
    rows = n + (problem.sink == "given")
    dk, dv = shapes.back(found["dk"], (b, g, rows, d)), shapes.back(found["dv"], (b, g, rows, c))
    results = {"q": shapes.back(found["dq"], (b, h, n_q, d)), "k": dk[:, :, rows - n :], "v": dv[:, :, rows - n :]}
    if problem.sink == "given":
        results |= {"sink_key": dk[:, :, :1], "sink_value": dv[:, :, :1]}
    if "ddurations" in found:
        results["durations"] = found["ddurations"].astype(np.float64)
    return results
