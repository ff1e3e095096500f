"""Causal continuous softmax attention (Linear, a sink of zeros) in Arb and in mpmath, timed; prints JSON."""

import json
import math
import random
import sys
import time

import flint
import mpmath

BITS = 128
width = int(sys.argv[1])


def gaussian(rows):
    return [[random.gauss(0.0, 1.0) for _ in range(width)] for _ in range(rows)]


def masses(a, exp, zero):
    """P of the nodes of one row from their scores: R of the segment on the left and L of the one on the right."""
    top = max(a)
    e = [exp(x - top) for x in a]
    p = [zero] * len(a)
    for i in range(1, len(a)):
        x = a[i] - a[i - 1]
        mass = (e[i] - e[i - 1]) / x
        p[i - 1] += (mass - e[i - 1]) / x
        p[i] += (e[i] - mass) / x
    return p


def arb(n):
    flint.ctx.prec = BITS
    q, k, v = gaussian(n), [[0.0] * width] + gaussian(n), [[0.0] * width] + gaussian(n)
    began = time.perf_counter()
    scores = flint.arb_mat(q) * flint.arb_mat(k).transpose() * (1 / flint.arb(width).sqrt())
    weights = flint.arb_mat(n, n + 1)
    for row in range(n):
        p = masses([scores[row, j] for j in range(row + 2)], flint.arb.exp, flint.arb(0))
        z = sum(p)
        for j, x in enumerate(p):
            weights[row, j] = x / z
    o = weights * flint.arb_mat(v)
    elapsed = time.perf_counter() - began
    assert o[n - 1, width - 1].is_finite()
    return elapsed


def arbitrary(n):
    mpmath.mp.prec = BITS
    q, k, v = gaussian(n), [[0.0] * width] + gaussian(n), [[0.0] * width] + gaussian(n)
    began = time.perf_counter()
    scale = 1 / mpmath.sqrt(width)
    q, k, v = ([[mpmath.mpf(x) for x in row] for row in rows] for rows in (q, k, v))
    for row in range(n):
        a = [scale * mpmath.fdot(q[row], k[j]) for j in range(row + 2)]
        p = masses(a, mpmath.exp, mpmath.mpf(0))
        z = mpmath.fsum(p)
        o = [mpmath.fdot(p, [v[j][c] for j in range(row + 2)]) / z for c in range(width)]
    elapsed = time.perf_counter() - began
    assert math.isfinite(float(o[-1]))
    return elapsed


random.seed(1)
figures = []
for what, f, n in [(f"Arb, matrix products at {BITS} bits (python-flint {flint.__version__})", arb, 256),
                   (f"mpmath {mpmath.__version__} at {BITS} bits", arbitrary, 24)]:
    seconds = min(f(n) for _ in range(3))
    figures.append({"what": what, "length": n, "head_dim": width, "microseconds_per_pair": 1e6 * seconds / (n * (n + 1) / 2)})
print(json.dumps(figures))
