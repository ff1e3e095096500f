"""How far a result may lie from ours: one bound for each output, derived here.

Let u be the unit roundoff of the engine's arithmetic, s that of the type in which results are stored, and per row

    A = u scale (d + 6) max_i sum_c |q_c k_ic|      what any order of summing does to a score, ours included (d products and
                                                    sums, scale, q and k each rounded to the arithmetic's type, and ours)
    E = 2 A + u (C + m)                             what one P_i is off, relatively: its two exponentials, each with the
                                                    error of its score, and C = 16 for phi, exp, durations, cut edges; m = the
                                                    number of nodes, for sums

phi2 and psi change by a factor of at most e^{|dx|} when x changes by dx, and |dx| <= 2 A, which E has room for as P_i is a
positive sum of such terms. Then, both sides of a comparison being off by at most that much:

    weights   2 E w_i, or what underflows     o    4 E max|v|  (a weighted mean of values is off by 2 E of the largest,
    lse       2 E + u |lse|                                    numerator and denominator)
    bias      2 E + 2 A + u |a_i|            and to each the storing: s |result| + the smallest step of the type

Gradients: G_i Z = g.v_i - g.o + g_lse is at most Y = |g|_1 max|v| 2 + |g_lse|, off by 4 E Y at most in any case; weights and
h_i/Z sum to at most 1 and 1/2, so that sum_i |error of dL/da_i| <= 16 E Y. With it dq <= 16 E Y scale max|k|,
dk <= sum over rows of 16 E Y scale |q|, dv <= sum over rows of (2 E + s) w |g| <= 4 E |g|_inf a row, and dD <= sum over rows of
16 E Y M, where M = max e^a / Z (what a unit of length can weigh). The differences add their own: AMPLIFICATION / step times
rounding of the loss, and truncation, taken into E as the constant TRUNCATION.

The bounds are meant to be near enough to bite: `plants.py` holds wrong operators that must exceed them.
"""

from dataclasses import dataclass

import numpy as np

import definition
import differences

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
# What arithmetic may flush to 0, and the smallest step of what is stored.
FLUSH = {"f64": 2.0**-1022, "f32": 2.0**-126}
TINY = {"f64": 2.0**-1074, "f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
C = 16
# Central differences of sixth order, h = 2^-10, of a loss whose k-th derivative grows like r^k: h^6 r^6/140. For r = 20 (the
# largest |q| scale or |k| scale that occurs) that is 4e-13. For durations see differences.duration_step.
TRUNCATION = 1e-12
TRUNCATION_OF_DURATIONS = 1e-10


def of_rows(dtype):
    """Type of lse and of gradients of durations."""
    return dtype if dtype in ("f64", "f32") else "f32"


@dataclass
class Allowances:
    """One array for each output, shaped like it, or broadcasting to it."""

    o: np.ndarray
    lse: np.ndarray
    weights: np.ndarray
    bias: np.ndarray


# The arithmetic of each engine.
ENGINES = {"plain": "f64", "plain-f32": "f32"}


def score_errors(problem, u):
    """By row, (B, H, n_q), over the nodes that it reads: A, the largest |v|, the largest |k|."""
    b, h, _, n_q, n = problem.lengths
    keys_of, values_of = definition.expanded(problem)
    a_error, v_max, k_max = (np.zeros((b, h, n_q)) for _ in range(3))
    for batch in range(b):
        for r in range(n_q):
            row = definition.resolve(problem, batch, r)
            if row.kind == "empty":
                continue
            keys, values = definition.with_copy(problem, row, keys_of[batch], values_of[batch])
            nodes = definition.involved(row) if row.kind == "interval" else [node for node, _ in row.point]
            terms = np.einsum("hd,hjd->hj", np.abs(problem.q[batch, :, r]), np.abs(keys[:, nodes]))
            d = problem.q.shape[-1]
            a_error[batch, :, r] = u * abs(problem.scale_value) * (d + 6) * np.max(terms, axis=1)
            v_max[batch, :, r] = np.max(np.abs(values[:, nodes]), axis=(1, 2))
            k_max[batch, :, r] = np.max(np.abs(keys[:, nodes]), axis=(1, 2))
    return a_error, v_max, k_max


def forward(problem, expected, engine="plain", result_dtype=None):
    """Allowances of o, lse, weights and bias."""
    stored = result_dtype or problem.dtype
    u = UNIT[ENGINES[engine]]
    flush = FLUSH[ENGINES[engine]]
    s, tiny = UNIT[stored], TINY[stored] + flush
    s_row, tiny_row = UNIT[of_rows(stored)], TINY[of_rows(stored)]
    a, v_max, _ = score_errors(problem, u)
    n = problem.k.shape[2]
    e = 2 * a + u * (C + n)
    finite = lambda x: np.where(np.isfinite(x), np.abs(x), 0.0)
    return Allowances(
        o=4 * e[..., None] * v_max[..., None] + s * np.abs(expected.o) + tiny * (1 + v_max[..., None]),
        lse=2 * e + (u + s_row) * finite(expected.lse) + tiny_row,
        weights=2 * e[..., None] * expected.weights + s * expected.weights + tiny,
        bias=2 * e[..., None] + 2 * a[..., None] + (8 * u + s) * finite(expected.bias) + tiny,
    )


def backward(problem, expected, found, upstream_o, upstream_lse, engine="plain"):
    """Allowances of the gradients `found`, by name."""
    u = UNIT[ENGINES[engine]]
    s, tiny = UNIT[problem.dtype], TINY[problem.dtype]
    s_row = UNIT[of_rows(problem.dtype)]
    a, v_max, k_max = score_errors(problem, u)
    b, h, g, n_q, n = problem.lengths
    e = 2 * a + u * (C + n)
    scale = abs(problem.scale_value)
    y = 2 * np.sum(np.abs(upstream_o), axis=-1) * v_max + np.abs(upstream_lse)
    q_max = np.max(np.abs(problem.q), axis=-1, initial=0.0)
    g_max = np.max(np.abs(upstream_o), axis=-1, initial=0.0)
    heads = lambda x: np.sum(x.reshape(b, g, h // g, n_q), axis=(2, 3))[..., None, None]

    # Of the differences: rounding of the loss, and truncation relative to what the gradient could be.
    live = np.isfinite(expected.lse)
    lse = np.where(live, expected.lse, 0.0)
    loss = np.sum(y) + np.sum(np.abs(lse * upstream_lse))
    step = differences.duration_step(problem) or np.inf
    rounding = differences.AMPLIFICATION * 2.0**-53 * (16 + np.sqrt(loss)) * max(loss, 1.0)
    noise, noise_of_durations = rounding / differences.STEP, rounding / step
    e_d = e + TRUNCATION
    score = 16 * e_d * y * scale
    # Times are sums in float64: a length that is changed by h is off by their rounding.
    of_times = 4 * 2.0**-53 * np.max(np.abs(problem.float_times())) / step
    largest = definition.densities(problem, expected)  # M
    length = np.sum(16 * (e + TRUNCATION_OF_DURATIONS + of_times) * y * largest, axis=(1, 2))[:, None]
    return {
        "q": (score * k_max)[..., None] + s * np.abs(found.q) + tiny + noise,
        "k": heads(score * q_max) + s * np.abs(found.k) + tiny + noise,
        "v": heads(4 * e_d * g_max) + s * np.abs(found.v) + tiny + noise,
        "sink_key": heads(score * q_max) + s * np.abs(found.sink_key) + tiny + noise,
        "sink_value": heads(4 * e_d * g_max) + s * np.abs(found.sink_value) + tiny + noise,
        "durations": length + s_row * np.abs(found.forward) + tiny + noise_of_durations,
    }
