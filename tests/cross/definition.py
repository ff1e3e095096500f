"""The operator from its definition: integrals over what a query sees, taken numerically.

This is the other route to every value: `equations.py` evaluates the closed forms, this file integrates

    P_i = int e^{a(s)} N_i(s) ds,   Z = int e^{a(s)} ds,   int e^{a(s)} v(s) ds

over the query's window, with a and v piecewise linear (Linear), constant on each segment (Step), or by the trapezoidal rule
on each part of a segment (Trapezoid). Time lines, windows, masks, documents and the sink are as docs/operator.md says in
words. Nodes are 0..n, node 0 is the sink; segment i joins place i-1 to place i.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy.integrate import quad_vec

import equations


@dataclass
class Window:
    """lower: "start", ("at", x) or ("sliding", width); upper: "end", ("at", x) or ("query", offset).

    x is a number, or one for each row: an array (n_q) or (B, n_q).
    """

    lower: object = "start"
    upper: object = ("query", 0.0)

    @property
    def causal(self):
        return self.upper != "end" and self.upper[0] == "query"


@dataclass
class Problem:
    """q (B, H, n_q, d), k (B, G, n, d), v (B, G, n, c), the sink's (B, G, 1, .): float64 holding values of `dtype`."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    sink: str = "zeros"
    sink_key: np.ndarray | None = None
    sink_value: np.ndarray | None = None
    rule: str = "linear"
    window: Window = field(default_factory=Window)
    durations: np.ndarray | None = None
    times: np.ndarray | None = None
    query_times: np.ndarray | None = None
    mask: np.ndarray | None = None
    documents: np.ndarray | None = None
    query_documents: np.ndarray | None = None
    scale: float | None = None
    dtype: str = "f64"

    @property
    def scale_value(self):
        return 1.0 / np.sqrt(self.q.shape[-1]) if self.scale is None else self.scale

    @property
    def lengths(self):
        """(B, H, G, n_q, n)"""
        return self.q.shape[0], self.q.shape[1], self.k.shape[1], self.q.shape[2], self.k.shape[2]

    def of_batch(self, x, batch):
        """A row of a series that is (n) or (B, n)."""
        return x if x is None or np.ndim(x) == 1 else x[batch]

    def exact_times(self, batch):
        """tau_0..tau_n as rationals."""
        n = self.k.shape[2]
        if self.times is not None:
            return [Fraction(float(x)) for x in self.of_batch(self.times, batch)]
        tau = [Fraction(0)]
        steps = [1.0] * n if self.durations is None else self.of_batch(self.durations, batch)
        for step in steps:
            tau.append(tau[-1] + Fraction(float(step)))
        return tau

    def float_times(self, durations=None):
        """tau as (B, n+1); from these durations (..., B, n) where given, tau_0 staying where it is."""
        first = np.array([float(self.exact_times(b)[0]) for b in range(self.q.shape[0])])
        if durations is None:
            return np.array([[float(x) for x in self.exact_times(b)] for b in range(self.q.shape[0])])
        zero = np.zeros_like(durations[..., :1])
        return first[:, None] + np.concatenate([zero, np.cumsum(durations, axis=-1)], axis=-1)

    def duration_values(self):
        """D as (B, n)."""
        exact = [self.exact_times(b) for b in range(self.q.shape[0])]
        return np.array([[float(tau[i] - tau[i - 1]) for i in range(1, len(tau))] for tau in exact])


@dataclass
class EdgeOfWindow:
    """A time that is fixed, or moves with a place: tau[place] + offset, the offset exact."""

    place: int | None
    offset: Fraction

    def at(self, tau):
        offset = self.offset if tau.dtype == object else float(self.offset)
        return offset if self.place is None else tau[..., self.place] + offset


@dataclass
class Row:
    """What one query sees: kind is "empty", "point" or "interval"."""

    kind: str
    segments: list = field(default_factory=list)  # (place of the right end, left node, right node)
    before: tuple | None = None  # (place, node) held before that place
    after: tuple | None = None
    lower: EdgeOfWindow | None = None
    upper: EdgeOfWindow | None = None
    point: list = field(default_factory=list)  # (node, weight), weights exact
    isolated: list = field(default_factory=list)  # kept nodes that end no visible segment (Taylor gives them weight e^a)
    copied: int | None = None  # the node that a copied sink copies


EMPTY = Row("empty")


def resolve(problem, batch, row):
    """What a query sees, by exact comparisons."""
    _, _, _, n_q, n = problem.lengths
    step = problem.rule == "step"
    window = problem.window
    tau = problem.exact_times(batch)
    mask = problem.of_batch(problem.mask, batch)
    kept = [False] + ([True] * n if mask is None else [bool(x) for x in mask])
    documents = problem.of_batch(problem.documents, batch)
    seat = n - n_q + 1 + row  # the node at which the row sits

    # The stretch of nodes that the row belongs to.
    if documents is None:
        stretch = range(1, n + 1)
    elif problem.query_documents is not None:
        own_document = problem.of_batch(problem.query_documents, batch)[row]
        stretch = [i for i in range(1, n + 1) if documents[i - 1] == own_document]
        if not stretch:
            return EMPTY
    elif 1 <= seat <= n:
        stretch = [i for i in range(1, n + 1) if documents[i - 1] == documents[seat - 1]]
    else:
        return EMPTY
    present = [i for i in stretch if kept[i]]
    has_sink = problem.sink != "absent" and not step and not (problem.sink == "copy" and n == 0)
    if not present and not (n == 0 and has_sink):
        return EMPTY
    first = present[0] if present else 1
    start = first - 1 if (has_sink or step) else first
    stretch_end = max(stretch) if len(stretch) else start

    # The query's time, and the node with which it moves.
    time = seated = None
    if window.causal:
        if problem.query_times is None:
            if seat < 0:
                return EMPTY
            time, seated = tau[seat], seat
        else:
            time = Fraction(float(problem.of_batch(problem.query_times, batch)[row]))
            own = [p for p in range(start, stretch_end + 1) if tau[p] == time]
            seated = own[-1] if own else None  # where several nodes stand at t it moves with the last one

    # Visible places.
    if not window.causal:
        end = stretch_end
    elif step:
        behind = [p for p in range(start + 1, stretch_end + 1) if tau[p - 1] < time]
        if not behind:
            return EMPTY
        end = behind[-1]
    else:
        seen = [p for p in range(start, stretch_end + 1) if tau[p] <= time]
        if not seen:
            return EMPTY
        end = seen[-1]
    if window.causal and tau[end] == time:
        seated = end  # ... of those that are visible

    # The window's edges: (exact time, how it moves). Segments without duration at an edge lie in the window, so where several
    # nodes stand at an edge, a lower one moves with the first of them and an upper one with the last.
    def given(x, which):
        if np.ndim(x):
            x = problem.of_batch(x, batch)[row]
        x = Fraction(float(x))
        own = [p for p in range(start, stretch_end + 1) if tau[p] == x]
        return (x, EdgeOfWindow(own[which], Fraction(0))) if own else (x, EdgeOfWindow(None, x))

    def derived(offset):
        x = time + Fraction(float(offset))
        if seated is None:
            return x, EdgeOfWindow(None, x)
        return x, EdgeOfWindow(seated, x - tau[seated])

    lower = (tau[start], EdgeOfWindow(start, Fraction(0)))
    if window.lower != "start":
        kind, x = window.lower
        if kind == "at":
            lower = given(x, 0)
        else:
            sliding = derived(-x)
            lower = sliding if sliding[0] > tau[start] else lower
    if window.upper == "end":
        upper = (tau[end], EdgeOfWindow(end, Fraction(0)))
    elif window.upper[0] == "at":
        upper = given(window.upper[1], -1)
    else:
        upper = derived(window.upper[1])
    if upper[0] < lower[0]:
        return EMPTY

    # Segments that both masks and the window leave.
    segments = []
    for i in range(start + 1, end + 1):
        if step:
            left = i if kept[i] else None
        elif i == first:
            left = 0
        else:
            left = i - 1 if kept[i] and kept[i - 1] else None
        if left is None:
            continue
        overlap = min(tau[i], upper[0]) - max(tau[i - 1], lower[0])
        instant = tau[i] == tau[i - 1] and lower[0] <= tau[i] <= upper[0]
        if overlap > 0 or instant:
            segments.append((i, left, i))

    def node_of(place):
        """The node that the curve has at a place, if the mask kept it."""
        if place == start:
            return first if step else (0 if has_sink else first)
        return place if kept[place] else None

    before = after = None
    if lower[0] < tau[start]:
        before = (start, node_of(start))
    if upper[0] > tau[end] and node_of(end) is not None:
        after = (end, node_of(end))

    held_before = before is not None and min(upper[0], tau[start]) > lower[0]
    held_after = after is not None and upper[0] > max(lower[0], tau[end])
    measure = any(tau[i] > tau[i - 1] for i, _, _ in segments) or held_before or held_after
    if measure:
        ends = {i for _, left, right in segments for i in (left, right)}
        inside = [p for p in range(start, end + 1) if lower[0] <= tau[p] <= upper[0] and node_of(p) is not None]
        isolated = [node_of(p) for p in inside if node_of(p) not in ends]
        return Row("interval", segments, before, after, lower[1], upper[1], [], isolated, first)

    # No duration: the value at the latest visible time inside the window.
    here = [(tau[p], p) for p in range(start, end + 1) if lower[0] <= tau[p] <= upper[0] and node_of(p) is not None]
    candidates = [(s, 1, p, [(node_of(p), 1.0)]) for s, p in here]
    x = upper[0]
    if lower[0] == upper[0]:
        for i in range(start + 1, end + 1):
            if not tau[i - 1] < x < tau[i]:
                continue
            if step and kept[i]:
                candidates.append((x, 0, i, [(i, 1.0)]))
            elif not step and (i == first or (kept[i] and kept[i - 1])):
                left, u = (0 if i == first else i - 1), (x - tau[i - 1]) / (tau[i] - tau[i - 1])
                candidates.append((x, 0, i, [(left, 1 - u), (i, u)]))
        if x < tau[start]:
            candidates.append((x, 0, start, [(node_of(start), 1.0)]))
        if x > tau[end] and node_of(end) is not None:
            candidates.append((x, 0, end, [(node_of(end), 1.0)]))
    if not candidates:
        return EMPTY
    best = max(candidates, key=lambda c: c[:3])
    return Row("point", point=best[3], copied=first)


# Thirty-two points integrate e^{xu} on [0, 1] to rounding up to |x| = 40: the remainder is below (x/4)^64 / 64!, relative to
# the largest value.
GAUSS_X, GAUSS_W = (lambda x, w: ((x + 1) / 2, w / 2))(*np.polynomial.legendre.leggauss(32))


@dataclass
class Part:
    """What of a segment lies in the window: u from alpha to beta = alpha + share, for a time of `length`."""

    left: int
    right: int
    alpha: object
    rest: object  # 1 - beta
    share: object
    length: object


def parts(row, tau):
    """Of each segment, and the curve held outside: parts in the type of tau, exact where those are rationals."""
    exact = tau.dtype == object
    lower, upper = row.lower.at(tau), row.upper.at(tau)

    def finished(left, right, *numbers):
        return Part(left, right, *((np.float64(x) for x in numbers) if exact else numbers))

    for i, left, right in row.segments:
        t0, t1 = tau[..., i - 1], tau[..., i]
        s0, s1 = np.maximum(t0, lower), np.minimum(t1, upper)
        length, duration = np.maximum(s1 - s0, 0), t1 - t0
        if exact and duration == 0:
            continue
        safe = duration if exact else np.where(duration > 0, duration, 1.0)
        yield finished(left, right, (s0 - t0) / safe, (t1 - s1) / safe, length / safe, length)
    zero, one = 0 * lower, 0 * lower + 1
    if row.before is not None:
        place, node = row.before
        yield finished(node, node, zero, zero, one, np.maximum(np.minimum(upper, tau[..., place]) - lower, 0))
    if row.after is not None:
        place, node = row.after
        yield finished(node, node, zero, zero, one, np.maximum(upper - np.maximum(lower, tau[..., place]), 0))


def masses(rule, row, a, tau):
    """P_0..P_n by Gauss-Legendre on each part; a (..., n+1) anchored near 0 from above, tau (..., n+1) broadcast to it."""
    p = np.zeros(np.broadcast_shapes(a.shape, tau.shape))
    if rule.startswith("taylor"):
        return taylor_masses(int(rule.split(":")[1]), row, a)
    for part in parts(row, tau):
        a0, a1 = a[..., part.left], a[..., part.right]
        if rule == "step" or part.left == part.right:
            p[..., part.right] += part.length * np.exp(a1)
            continue
        x = np.array([0.0, 1.0]) if rule == "trapezoid" else GAUSS_X
        w = np.array([0.5, 0.5]) if rule == "trapezoid" else GAUSS_W
        # The hats of both ends, 1 - u and u, at the points.
        share, length = np.asarray(part.share)[..., None], np.asarray(part.length)[..., None]
        falling = np.asarray(part.rest)[..., None] + share * (1 - x)
        rising = np.asarray(part.alpha)[..., None] + share * x
        e = length * w * np.exp(falling * a0[..., None] + rising * a1[..., None])
        p[..., part.left] += np.sum(falling * e, axis=-1)
        p[..., part.right] += np.sum(rising * e, axis=-1)
    return p


SERIES = {}


def taylor_masses(order, row, a):
    """e^{a_i + b_i} with the series of b cut after `order`."""
    if order not in SERIES:
        SERIES[order] = equations.taylor(order)
    interior, end = SERIES[order]
    neighbours = {}
    for _, left, right in row.segments:
        neighbours.setdefault(left, []).append(right)
        neighbours.setdefault(right, []).append(left)
    p = np.zeros(a.shape)
    for i, near in neighbours.items():
        x = [a[..., j] - a[..., i] for j in near]
        if len(near) == 2:
            b = sum((float(c) * x[0] ** m * x[1] ** n for (m, n), c in interior.items()), np.zeros_like(a[..., i]))
        else:
            b = -np.log(2.0) + sum((float(c) * x[0] ** m for m, c in end.items()), np.zeros_like(a[..., i]))
        p[..., i] = np.exp(a[..., i] + b)
    for i in row.isolated:
        p[..., i] = np.exp(a[..., i])
    return p


def integrals(row, a, v, tau):
    """(Z, int e^a v, P) of Linear by adaptive quadrature of the definition itself, part by part, in one vector each."""
    z, numerator, p = 0.0, np.zeros(v.shape[1]), np.zeros(len(a))
    for part in parts(row, tau):
        if part.length <= 0:
            continue
        left, right = part.left, part.right
        # The largest that either hat gets, so that the error of each is relative to itself.
        top = part.rest + part.share, part.alpha + part.share

        def integrand(x):
            falling, rising = part.rest + part.share * (1 - x), part.alpha + part.share * x
            e = np.exp(falling * a[left] + rising * a[right])
            return e * np.concatenate([[1.0, falling / top[0], rising / top[1]], falling * v[left] + rising * v[right]])

        value, _ = quad_vec(integrand, 0.0, 1.0, epsabs=0.0, epsrel=1e-14, norm="max")
        value = value * part.length
        z, numerator = z + value[0], numerator + value[3:]
        p[left] += value[1] * top[0]
        p[right] += value[2] * top[1]
    return z, numerator, p


@dataclass
class Result:
    """o (B, H, n_q, c), lse (B, H, n_q), weights and bias (B, H, n_q, n+1), with the kind of every row."""

    o: np.ndarray
    lse: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    kinds: list


def expanded(problem):
    """Keys and values of nodes 0..n, one for each query head: (B, H, n+1, .). A copied sink is put in row by row."""
    b, h, g, _, _ = problem.lengths
    def joined(x, of_sink):
        zero = np.zeros_like(x[:, :, :1]) if x.shape[2] else np.zeros((*x.shape[:2], 1, x.shape[3]))
        first = of_sink if problem.sink == "given" else zero
        return np.repeat(np.concatenate([first, x], axis=2), h // g, axis=1)
    return joined(problem.k, problem.sink_key), joined(problem.v, problem.sink_value)


def with_copy(problem, row, keys, values):
    """Node 0 of this row, where it is a copy."""
    if problem.sink == "copy" and row.copied is not None and problem.k.shape[2] > 0:
        keys, values = keys.copy(), values.copy()
        keys[..., 0, :] = keys[..., row.copied, :]
        values[..., 0, :] = values[..., row.copied, :]
    return keys, values


def involved(row):
    """Nodes whose scores the row reads."""
    nodes = {node for _, left, right in row.segments for node in (left, right)} | set(row.isolated)
    nodes |= {hold[1] for hold in (row.before, row.after) if hold is not None}
    return sorted(nodes)


def densities(problem, result):
    """max e^a / Z over the nodes that a row reads, (B, H, n_q): what a unit of length can weigh; 0 without measure."""
    b, _, _, n_q, _ = problem.lengths
    keys_of, values_of = expanded(problem)
    out = np.zeros(result.lse.shape)
    for batch in range(b):
        for r in range(n_q):
            row = resolve(problem, batch, r)
            if row.kind == "interval":
                keys, _ = with_copy(problem, row, keys_of[batch], values_of[batch])
                a = problem.scale_value * np.einsum("hd,hjd->hj", problem.q[batch, :, r], keys[:, involved(row)])
                out[batch, :, r] = np.exp(np.max(a, axis=1) - result.lse[batch, :, r])
    return out


def attend(problem, quadrature=False):
    """All outputs; with `quadrature`, Linear rows by adaptive quadrature of eq (2) instead of Gauss-Legendre."""
    b, h, _, n_q, n = problem.lengths
    c = problem.v.shape[-1]
    out = Result(
        np.zeros((b, h, n_q, c)),
        np.full((b, h, n_q), -np.inf),
        np.zeros((b, h, n_q, n + 1)),
        np.full((b, h, n_q, n + 1), -np.inf),
        [],
    )
    all_keys, all_values = expanded(problem)
    for batch in range(b):
        tau = np.array(problem.exact_times(batch), dtype=object)
        for r in range(n_q):
            row = resolve(problem, batch, r)
            out.kinds.append(row.kind)
            if row.kind == "empty":
                continue
            keys, values = with_copy(problem, row, all_keys[batch], all_values[batch])
            if row.kind == "point":
                for node, weight in ((node, float(weight)) for node, weight in row.point):
                    out.weights[batch, :, r, node] += weight
                    out.o[batch, :, r] += weight * values[:, node]
                continue
            a = problem.scale_value * np.einsum("hd,hjd->hj", problem.q[batch, :, r], keys)
            nodes = involved(row)
            anchor = np.max(a[:, nodes], axis=1)
            for head in range(h):
                shifted = a[head] - anchor[head]
                if quadrature and problem.rule == "linear":
                    z, numerator, p = integrals(row, shifted, values[head], tau)
                else:
                    p = masses(problem.rule, row, shifted, tau)
                    z, numerator = np.sum(p), p @ values[head]
                out.o[batch, head, r] = numerator / z
                out.lse[batch, head, r] = anchor[head] + np.log(z)
                out.weights[batch, head, r] = p / z
                with np.errstate(divide="ignore"):
                    out.bias[batch, head, r] = np.log(p) - shifted
    return out
