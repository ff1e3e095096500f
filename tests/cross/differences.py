"""Gradients as differences of the loss sum(do . o) + sum(dlse lse), evaluated as in `definition.py`.

Inputs enter through sixth-order central differences. Durations enter through sixth-order one-sided differences, one to each
side: a duration of 0 has one side only, and where an edge of the window that is derived from t meets a node the two sides
may differ, so that both are answers.

What a row sees (its segments, and which node each edge moves with) is that of the unperturbed problem, so an edge that sits
on a node moves with that node, and rows of zero measure take part through their values alone.
"""

from dataclasses import dataclass

import numpy as np

import definition

# f'(x) = sum c f(x + k h)/h. Truncation h^6 f7/140 and h^6 f7/7, with h = 1e-3: 6e-21 and 1e-19 times f7.
STEP = 2.0**-10
REACH = 6.5 * STEP  # how far a difference looks: better if no kink of the loss lies nearer
CENTRAL = {-3: -1 / 60, -2: 3 / 20, -1: -3 / 4, 1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
FORWARD = {0: -147 / 60, 1: 6.0, 2: -15 / 2, 3: 20 / 3, 4: -15 / 4, 5: 6 / 5, 6: -1 / 6}
# The largest sum of |c|: rounding of the loss enters a derivative times this over the step.
AMPLIFICATION = 27.0


@dataclass
class Gradients:
    """Each in the shape of its input; durations twice (B, n), forward and backward: NaN where there is no room behind, or
    none for any difference."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    sink_key: np.ndarray
    sink_value: np.ndarray
    forward: np.ndarray
    backward: np.ndarray


def joined(first, rest):
    """Node 0 before the others, in stacks of which one may have length 1."""
    stack = max(len(first), len(rest))
    return np.concatenate([np.broadcast_to(x, (stack, *x.shape[1:])) for x in (first, rest)], axis=3)


def loss(problem, rows, q, k, v, sink_key, sink_value, tau, upstream_o, upstream_lse):
    """The loss for a stack of inputs: every array has one leading axis more than in `Problem`, of length 1 or S."""
    b, h, g, n_q, _ = problem.lengths
    keys_of_heads = np.repeat(joined(sink_key, k), h // g, axis=2)
    values_of_heads = np.repeat(joined(sink_value, v), h // g, axis=2)
    total = 0.0
    for batch in range(b):
        for r in range(n_q):
            row = rows[batch][r]
            if row.kind == "empty":
                continue
            keys, values = keys_of_heads[:, batch], values_of_heads[:, batch]
            keys, values = definition.with_copy(problem, row, keys, values)
            g_o = upstream_o[batch, :, r]
            if row.kind == "point":
                for node, weight in ((node, float(weight)) for node, weight in row.point):
                    total = total + weight * np.einsum("hc,shc->s", g_o, values[:, :, node])
                continue
            a = problem.scale_value * np.einsum("shd,shjd->shj", q[:, batch, :, r], keys)
            nodes = definition.involved(row)
            anchor = np.max(a[:1, :, nodes], axis=2, keepdims=True)
            p = definition.masses(problem.rule, row, a - anchor, tau[:, batch, None, :])
            z = np.sum(p, axis=-1)
            o = np.einsum("shj,shjc->shc", np.broadcast_to(p, z.shape + p.shape[-1:]), values) / z[..., None]
            lse = anchor[..., 0] + np.log(z)
            total = total + np.einsum("hc,shc->s", g_o, o) + np.einsum("h,sh->s", upstream_lse[batch, :, r], lse)
    return np.atleast_1d(total)


def room(problem):
    """The shortest length in the problem, other than 0: of a window, of a segment, of an edge from a place."""
    b, _, _, n_q, _ = problem.lengths
    durations = problem.duration_values()
    least = np.min(durations[durations > 0], initial=np.inf)
    for batch in range(b):
        tau = np.array(problem.exact_times(batch), dtype=object)
        for r in range(n_q):
            row = definition.resolve(problem, batch, r)
            if row.kind == "interval":
                lower, upper = row.lower.at(tau), row.upper.at(tau)
                lengths = [upper - lower, *(abs(tau - lower)), *(abs(tau - upper))]
                least = min([least] + [float(x) for x in lengths if x > 0])
    return least


def duration_step(problem):
    """The step for durations, or None where no step would do.

    The loss has logarithms of lengths in it: relative to a length l, truncation is 720/7 (h/l)^6 = 1e-10 at h = l/100. Beside
    the lengths of the problem there is 1/M: so long a piece of curve at the largest score weighs as much as all the rest.
    """
    heaviest = np.max(definition.densities(problem, definition.attend(problem)), initial=1.0)
    length = min(room(problem), 1 / heaviest)
    return None if length < 2.0**-16 else min(STEP, length / 100)


def perturbed(x, stencil, step):
    """x with each element moved by each offset: (elements * offsets, *x.shape)."""
    stack = np.repeat(x[None], x.size * len(stencil), axis=0)
    flat = stack.reshape(x.size, len(stencil), x.size)
    for at, offset in enumerate(stencil):
        flat[np.arange(x.size), at, np.arange(x.size)] += offset * step
    return stack


def gradients(problem, upstream_o, upstream_lse):
    """All of them."""
    b, _, _, n_q, n = problem.lengths
    rows = [[definition.resolve(problem, batch, r) for r in range(n_q)] for batch in range(b)]
    zero = lambda x: np.zeros((*x.shape[:2], 1, x.shape[3]))
    given = problem.sink == "given"
    durations = problem.duration_values()
    base = {
        "q": problem.q,
        "k": problem.k,
        "v": problem.v,
        "sink_key": problem.sink_key if given else zero(problem.k),
        "sink_value": problem.sink_value if given else zero(problem.v),
        "tau": problem.float_times(),
    }

    def value(**changed):
        arrays = {name: changed.get(name, x[None]) for name, x in base.items()}
        return loss(problem, rows, **arrays, upstream_o=upstream_o, upstream_lse=upstream_lse)

    def difference(name, stencil, step=STEP):
        x = durations if name == "tau" else base[name]
        if x.size == 0:
            return np.zeros(x.shape)
        stack = perturbed(x, stencil, step)
        if name == "tau":
            stack = problem.float_times(stack)
        found = np.broadcast_to(value(**{name: stack}), (stack.shape[0],)).reshape(x.size, len(stencil))
        return (found @ np.array(list(stencil.values())) / step).reshape(x.shape)

    inputs = {name: difference(name, CENTRAL) for name in ("q", "k", "v", "sink_key", "sink_value")}
    step = duration_step(problem)
    without = problem.rule.startswith("taylor") or step is None
    forward = np.full((b, n), np.nan) if without else difference("tau", FORWARD, step)
    backward = np.full((b, n), np.nan)
    if not without and n and np.any(durations >= 6.5 * step):
        with np.errstate(invalid="ignore", divide="ignore"):
            backward = np.where(durations >= 6.5 * step, difference("tau", FORWARD, -step), np.nan)
    return Gradients(**inputs, forward=forward, backward=backward)
