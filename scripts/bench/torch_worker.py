#!/usr/bin/env python3
"""PyTorch's side of the benchmark: answers one JSON object a line, as `contattn bench cpu --serve` does.

    torch_worker.py --threads N

    {"do": "open", "direction": ..., "keys": ..., "causal": ..., "folder": ..., "peers": ["torch-sdpa", ...], ...}   reads q, k, v, g and g_judged there, runs
        everything once, leaves the results there -> {"runners": [{"engine", "rule", "time", "files", "backend"}, ...], "capability"}
    {"do": "time", "runner": 0} -> {"wall_s", "processor_s"}        {"do": "close"} -> {}
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

# phi2(x) = sum of x^k / (k + 2)!, for |x| < 1 to f32
PHI2 = [1 / 2]
for _k in range(1, 10):
    PHI2.append(PHI2[-1] / (_k + 2))

ROWS_OF_A_CHUNK = 128
DECODE_BYTES = 1 << 30


def continuous(q, k, v, causal, first_row=0):
    """Continuous attention (rule linear, unit times, sink 0) with operators of PyTorch: q is (batch, heads, rows, width)."""
    k, v = F.pad(k, (0, 0, 1, 0)), F.pad(v, (0, 0, 1, 0))
    scores = (q @ k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
    if causal:
        rows = torch.arange(first_row + 1, first_row + 1 + q.shape[-2], device=q.device)[:, None]
        nodes = torch.arange(k.shape[-2], device=q.device)[None, :]
        visible = nodes <= rows
        largest = scores.masked_fill(~visible, -torch.inf).amax(-1, keepdim=True).detach()
        scores = torch.where(visible, scores, largest)
    else:
        largest = scores.amax(-1, keepdim=True).detach()
    e = torch.exp(scores - largest)
    e0, e1 = e[..., :-1], e[..., 1:]
    x = scores[..., 1:] - scores[..., :-1]
    near = x.abs() < 1
    far = torch.where(near, 1.0, x)
    small = torch.where(near, x, 0.0)
    phi2 = torch.full_like(small, PHI2[-1])
    for coefficient in PHI2[-2::-1]:
        phi2 = phi2 * small + coefficient
    left = e0 * phi2
    mass = (e1 - e0) / far
    right = torch.where(near, e0 + small * left - left, (e1 - mass) / far)
    left = torch.where(near, left, (mass - e0) / far)
    if causal:
        seen = visible[:, 1:]
        left, right = left * seen, right * seen
    weights = F.pad(left, (0, 1)) + F.pad(right, (1, 0))
    return (weights @ v) / weights.sum(-1, keepdim=True)


def chunked(q, k, v, causal):
    """The same by chunks of queries, each with the keys that it may see."""
    parts = []
    for first in range(0, q.shape[-2], ROWS_OF_A_CHUNK):
        rows = q[..., first : first + ROWS_OF_A_CHUNK, :]
        keys = first + rows.shape[-2] if causal else k.shape[-2]
        parts.append(continuous(rows, k[..., :keys, :], v[..., :keys, :], causal, first))
    return torch.cat(parts, dim=-2)


def softmax(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def backend(q, k, v, causal):
    """What scaled_dot_product_attention takes for these."""
    gqa = q.shape[1] != k.shape[1]
    chosen = torch._fused_sdp_choice(q, k, v, is_causal=causal, enable_gqa=gqa)
    return torch.nn.attention.SDPBackend(chosen).name.lower()


# Compiled for each shape when it first runs.
compiled = torch.compile(continuous, dynamic=False, fullgraph=True)

RUNNERS = [
    ("torch-sdpa", "step", softmax),
    ("torch-eager", "linear", continuous),
    ("torch-compiled", "linear", compiled),
    ("torch-chunked", "linear", chunked),
]


class Case:
    """A case, opened: everything has run once, and its results are in the folder."""

    def __init__(self, asked):
        self.causal, self.direction = asked["causal"], asked["direction"]
        folder = Path(asked["folder"])
        self.q, self.k, self.v, self.g, judged = (
            torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("q", "k", "v", "g", "g_judged")
        )
        self.runners = [runner for runner in RUNNERS if runner[0] in asked["peers"]]
        self.told = []
        for engine, rule, function in self.runners:
            files = {}
            for name, tensor in zip(("o", "dq", "dk", "dv"), self.run(function, self.q, self.k, self.v, judged)):
                files[name] = str(folder / f"{engine}-{name}.npy")
                np.save(files[name], tensor.detach().contiguous().numpy())
            told = {"engine": engine, "rule": rule, "time": "unit", "files": files}
            if engine == "torch-sdpa":
                told["backend"] = backend(self.q, self.k, self.v, self.causal)
            self.told.append(told)
        self.caches, self.turn = [(self.k, self.v)], 0
        if self.direction == "decode":
            size = 2 * self.k.nbytes
            self.caches = [(self.k.clone(), self.v.clone()) for _ in range(min(1024, max(2, DECODE_BYTES // size)))]

    def run(self, function, q, k, v, g):
        if self.direction != "fwdbwd":
            with torch.inference_mode():
                return (function(q, k, v, self.causal),)
        inputs = [tensor.detach().requires_grad_() for tensor in (q, k, v)]
        o = function(*inputs, self.causal)
        return (o, *torch.autograd.grad(o, inputs, g))

    def time(self, runner):
        function = self.runners[runner][2]
        self.turn = (self.turn + 1) % len(self.caches)
        k, v = self.caches[self.turn]
        wall, processor = time.perf_counter(), time.process_time()
        results = self.run(function, self.q, k, v, self.g)
        processor, wall = time.process_time() - processor, time.perf_counter() - wall
        del results
        return {"wall_s": wall, "processor_s": processor if torch.get_num_threads() == 1 else None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, required=True)
    threads = parser.parse_args().threads
    # Answers alone go to stdout, whatever compilers and warnings say.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    case = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if asked["do"] == "open":
                torch.compiler.reset()
                case = Case(asked)
                answer = {
                    "runners": case.told,
                    "capability": torch.backends.cpu.get_cpu_capability(),
                }
            elif asked["do"] == "version":
                answer = {"version": torch.__version__}
            elif asked["do"] == "time":
                answer = case.time(asked["runner"])
            else:
                case, answer = None, {}
        except Exception as error:  # told to whoever asked, who decides
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
