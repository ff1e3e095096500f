"""Continuous attention in Arb's ball arithmetic, from its integrals.

What a row sees comes from `definition.resolve`, in exact rationals. Each part of a segment, from place alpha to place beta of
it and of length l, has a score A(s) = A_0 + x s, s in [0, 1], and hat functions that are linear in s. Everything is made of

    M_k = int_0^1 s^k e^{A_0 + x s} ds = e^{A_0} 1F1(k+1; k+2; x)/(k+1),    k = 0, 1, 2

(Kummer's function by its integral, DLMF 13.4.1), or for Trapezoid of the same sums over {0, 1} with weights 1/2; none of phi1, phi2, psi, L, R, h occurs. A
sample of the M_k is integrated numerically by Arb, with its certified adaptive quadrature. Gradients are those of
l int e^A F, F = g.v - g.o + g_lse, with respect to scores (the mass matrix int e^A N_i N_j) and, through exact dual numbers, to
the durations. A ball that holds a border between two numbers of a type is refined up to 1280 bits; what is open then is a tie,
or nearly one, and the expected number has to be one of the two.
"""

from fractions import Fraction

import numpy as np
from flint import acb, arb, ctx, fmpq

import definition
import equations

PRECISIONS = (160, 320, 1280)


def exactly(x):
    """A ball around a rational."""
    return arb(fmpq(x.numerator, x.denominator)) if isinstance(x, Fraction) else arb(float(x))


class Dual:
    """A rational with its derivatives by D_1..D_n, each with what changes with it."""

    __slots__ = ("value", "slopes")

    def __init__(self, value, slopes):
        self.value, self.slopes = value, slopes

    def __add__(self, other):
        return Dual(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other):
        return Dual(self.value - other.value, self.slopes - other.slopes)

    def __truediv__(self, other):
        quotient = self.value / other.value
        return Dual(quotient, (self.slopes - quotient * other.slopes) / other.value)


class Part:
    """Nodes, the hats as (constant, slope) in s, and the length, with their derivatives by the durations."""

    def __init__(self, left, right, alpha, rest, share, length):
        self.left, self.right, self.length = left, right, length
        self.alpha, self.rest, self.share = alpha, rest, share

    def hats(self):
        """falling = rest + share (1 - s), rising = alpha + share s; of a whole segment 1 - s and s, exactly."""
        alpha, rest, share = exactly(self.alpha.value), exactly(self.rest.value), exactly(self.share.value)
        return (rest + share, -share), (alpha, share)


def parts(problem, row, batch):
    """Every part of a row with a length, or with a derivative of it."""
    n = problem.k.shape[2]
    tau = problem.exact_times(batch)
    unit = np.tri(n + 1, n, -1, dtype=int).astype(object)  # d tau_i / d D_m = 1 for m <= i
    times = [Dual(tau[i], unit[i] * Fraction(1)) for i in range(n + 1)]
    constant = lambda x: Dual(Fraction(x), np.array([Fraction(0)] * n, dtype=object))

    def place(edge):
        return constant(edge.offset) if edge.place is None else times[edge.place] + constant(edge.offset)

    # At equality: an edge that sits on a node never passes another node's time, since durations are at least 0; an edge that is
    # only derived from one moves off the node that it happens to meet.
    sits = lambda edge: edge.place is not None and edge.offset == 0
    lower, upper = place(row.lower), place(row.upper)

    def later(a, edge):
        return edge if edge.value > a.value or (edge.value == a.value and not sits(row.lower)) else a

    def earlier(a, edge):
        return edge if edge.value < a.value or (edge.value == a.value and not sits(row.upper)) else a

    for i, left, right in row.segments:
        t0, t1 = times[i - 1], times[i]
        if t0.value == t1.value:
            yield Part(left, right, constant(0), constant(0), constant(1), t1 - t0)
            continue
        s0, s1, duration = later(t0, lower), earlier(t1, upper), t1 - t0
        length = s1 - s0
        yield Part(left, right, (s0 - t0) / duration, (t1 - s1) / duration, length / duration, length)
    if row.before is not None:
        at, node = row.before
        length = (upper if upper.value < times[at].value else times[at]) - lower
        if length.value > 0:
            yield Part(node, node, constant(0), constant(0), constant(1), length)
    if row.after is not None:
        at, node = row.after
        length = upper - (lower if lower.value > times[at].value else times[at])
        if length.value > 0:
            yield Part(node, node, constant(0), constant(0), constant(1), length)


class Moments:
    """M_0, M_1, M_2 of a part; every `SAMPLE`th is integrated numerically as well."""

    SAMPLE = 29
    seen = checked = 0

    def __new__(cls, rule, a0, x):
        if rule == "trapezoid":
            return Ends(a0.exp() / 2, (a0 + x).exp() / 2)
        scale = a0.exp()
        moments = [scale * x.hypgeom_1f1(k + 1, k + 2) / (k + 1) for k in range(3)]
        cls.seen += 1
        if cls.seen % cls.SAMPLE == 0 and abs(float(x.mid())) < 500 and ctx.prec == PRECISIONS[0]:
            cls.checked += 1
            for k, moment in enumerate(moments):
                integral = acb.integral(lambda s, _: (acb(x) * s).exp() * s**k, 0, 1).real * scale
                assert integral.overlaps(moment) and integral.is_finite(), f"int s^{k} e^(xs), x = {x}: {integral}, {moment}"
        return moments


def power(x, n):
    """x^n by products: the library's power is NaN where x may be 0."""
    total = arb(1)
    for _ in range(n):
        total *= x
    return total


class Ends:
    """The measure of Trapezoid: the polynomial at either end, so that an end that is far below is not lost in a difference."""

    def __init__(self, first, last):
        self.first, self.last = first, last


def dot(polynomial, moments):
    """int_0^1 p(s) e^{A(s)} ds"""
    if isinstance(moments, Ends):
        return polynomial[0] * moments.first + sum(polynomial, arb(0)) * moments.last
    return sum((c * m for c, m in zip(polynomial, moments)), arb(0))


def product(p, q):
    out = [arb(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            out[i + j] += a * b
    return out


class Series:
    """The expansion of b for Taylor, and its derivatives, with rational coefficients."""

    cache = {}

    def __init__(self, order):
        if order not in self.cache:
            self.cache[order] = equations.taylor(order)
        self.interior, self.end = self.cache[order]

    def value(self, x):
        """b and its derivatives by each x."""
        if not x:
            return arb(0), []
        if len(x) == 1:
            b = -arb(2).log() + sum((exactly(c) * power(x[0], m) for (m, *_), c in self.pairs()), arb(0))
            slope = sum((exactly(c) * m * power(x[0], m - 1) for (m, *_), c in self.pairs() if m), arb(0))
            return b, [slope]
        u, w = x
        b = du = dw = arb(0)
        for (m, n), c in self.interior.items():
            c = exactly(c)
            b += c * power(u, m) * power(w, n)
            du += c * m * power(u, m - 1) * power(w, n) if m else arb(0)
            dw += c * n * power(u, m) * power(w, n - 1) if n else arb(0)
        return b, [du, dw]

    def pairs(self):
        return [(key if isinstance(key, tuple) else (key,), c) for key, c in self.end.items()]


class Row:
    """One row's integrals at the current precision."""

    def __init__(self, problem, seen, its_parts, q, keys, scale):
        self.seen, self.parts, self.rule = seen, its_parts, problem.rule
        self.nodes = definition.involved(seen)
        a = {j: scale * sum((arb(float(x)) * arb(float(y)) for x, y in zip(q, keys[j])), arb(0)) for j in self.nodes}
        self.top = a[max(self.nodes, key=lambda j: a[j].mid())]
        self.a = {j: a[j] - self.top for j in self.nodes}
        self.p = {j: arb(0) for j in self.nodes}
        # b by the node's own score, so that nothing is lost where P is small beside Z.
        self.own = {j: arb(0) for j in self.nodes}
        if self.rule.startswith("taylor"):
            self.taylor()
        else:
            self.curve()
        self.z = sum(self.p.values(), arb(0))
        self.bias = {j: self.own[j].log() for j in self.nodes if not (self.own[j] == 0)}

    def curve(self):
        self.moments = []
        for part in self.parts:
            a0, a1 = self.a[part.left], self.a[part.right]
            length = exactly(part.length.value)
            falling, rising = part.hats()
            if self.rule == "step" or part.left == part.right:
                share = a1.exp()
                self.moments.append([share])
                self.p[part.right] += length * share
                self.own[part.right] += length
                continue
            start = falling[0] * a0 + rising[0] * a1
            slope = rising[1] * (a1 - a0)
            moments = Moments(self.rule, start, slope)
            self.moments.append(moments)
            if part.length.value == 0:
                continue
            for node, hat in ((part.left, falling), (part.right, rising)):
                self.p[node] += length * dot(hat, moments)
                # Relative to the node itself: again by moments, so that e^{a - a_j} cannot underflow.
                own = Moments(self.rule, start - self.a[node], slope)
                self.own[node] += length * dot(hat, own)

    def taylor(self):
        order = int(self.rule.split(":")[1])
        self.neighbours = {j: [] for j in self.nodes}
        for _, left, right in self.seen.segments:
            self.neighbours[left].append(right)
            self.neighbours[right].append(left)
        self.slopes = {}
        for j in self.nodes:
            b, self.slopes[j] = Series(order).value([self.a[i] - self.a[j] for i in self.neighbours[j]])
            self.own[j] = b.exp()
            self.p[j] = (self.a[j] + b).exp()

    def gradient(self, field, durations):
        """d/da_j and d/dD_m of sum of P_j F_j with F fixed, F = field."""
        scores = {j: arb(0) for j in self.nodes}
        times = [arb(0)] * durations
        if self.rule.startswith("taylor"):
            for j in self.nodes:
                whole = self.p[j] * field[j]
                scores[j] += whole
                for i, slope in zip(self.neighbours[j], self.slopes[j]):
                    scores[i] += whole * slope
                    scores[j] -= whole * slope
            return scores, times
        for part, moments in zip(self.parts, self.moments):
            f0, f1 = field[part.left], field[part.right]
            length = exactly(part.length.value)
            if self.rule == "step" or part.left == part.right:
                scores[part.right] += length * moments[0] * f1
                for m, slope in enumerate(part.length.slopes):
                    if slope:
                        times[m] += exactly(slope) * moments[0] * f1
                continue
            falling, rising = part.hats()
            curve = [falling[0] * f0 + rising[0] * f1, falling[1] * f0 + rising[1] * f1]
            mean = dot(curve, moments)
            scores[part.left] += length * dot(product(falling, curve), moments)
            scores[part.right] += length * dot(product(rising, curve), moments)
            for m in range(durations):
                longer, alpha, share = part.length.slopes[m], part.alpha.slopes[m], part.share.slopes[m]
                if longer:
                    times[m] += exactly(longer) * mean
                if (alpha or share) and part.length.value:
                    # Both hats sum to 1, so the falling one moves against the rising one.
                    moved = [exactly(alpha), exactly(share)]
                    steeper = self.a[part.right] - self.a[part.left]
                    by_score = dot(product([steeper * c for c in moved], curve), moments)
                    by_field = dot([(f1 - f0) * c for c in moved], moments)
                    times[m] += length * (by_score + by_field)
        return scores, times


def is_nan(seen, q, keys):
    nodes = definition.involved(seen) if seen.kind == "interval" else [node for node, _ in seen.point]
    return seen.kind != "empty" and not (np.all(np.isfinite(q)) and all(np.all(np.isfinite(keys[j])) for j in nodes))


def evaluate(problem, upstream):
    """Results by name as object arrays of balls (or floats for what is no number), at the current precision."""
    b, h, g, n_q, n = problem.lengths
    d, c = problem.q.shape[3], problem.v.shape[3]
    scale = 1 / arb(d).sqrt() if problem.scale is None else arb(problem.scale)
    balls = lambda *shape: np.array([arb(0) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
    out = {
        "o": balls(b, h, n_q, c),
        "lse": np.full((b, h, n_q), -np.inf, dtype=object),
        "weights": balls(b, h, n_q, n + 1),
        "bias": np.full((b, h, n_q, n + 1), -np.inf, dtype=object),
    }
    if upstream is not None:
        above, above_lse = upstream
        out |= {"dq": balls(b, h, n_q, d), "dk": balls(b, g, n + 1, d), "dv": balls(b, g, n + 1, c)}
        out["ddurations"] = balls(b, n)
    all_keys, all_values = definition.expanded(problem)
    for batch in range(b):
        for r in range(n_q):
            seen = definition.resolve(problem, batch, r)
            if seen.kind == "empty":
                continue
            its_parts = list(parts(problem, seen, batch)) if seen.kind == "interval" else []
            keys, values = definition.with_copy(problem, seen, all_keys[batch], all_values[batch])
            source = lambda j: seen.copied if j == 0 and problem.sink == "copy" else j
            for head in range(h):
                at = batch, head, r
                q = problem.q[at]
                group = head // (h // g)
                if is_nan(seen, q, keys[head]):
                    for name in ("o", "lse", "weights", "bias"):
                        out[name][at] = np.nan
                    continue
                if seen.kind == "point":
                    for node, weight in ((node, exactly(Fraction(weight))) for node, weight in seen.point):
                        out["weights"][at][node] += weight
                        for channel in range(c):
                            out["o"][at][channel] += weight * arb(float(values[head, node, channel]))
                            if upstream is not None:
                                out["dv"][batch, group, source(node), channel] += weight * arb(float(above[at][channel]))
                    continue
                row = Row(problem, seen, its_parts, q, keys[head], scale)
                v = {j: [arb(float(x)) for x in values[head, j]] for j in row.nodes}
                for channel in range(c):
                    total = sum((row.p[j] * v[j][channel] for j in row.nodes), arb(0))
                    finite = all(np.isfinite(values[head, j, channel]) for j in row.nodes)
                    out["o"][at][channel] = total / row.z if finite else np.nan
                out["lse"][at] = row.top + row.z.log()
                for j in row.nodes:
                    out["weights"][at][j] = row.p[j] / row.z
                    if j in row.bias:
                        out["bias"][at][j] = row.bias[j]
                if upstream is None:
                    continue
                e = [arb(float(x)) for x in above[at]]
                mean = sum((x * y for x, y in zip(e, out["o"][at])), arb(0)) - arb(float(above_lse[at]))
                field = {j: (sum((x * y for x, y in zip(e, v[j])), arb(0)) - mean) / row.z for j in row.nodes}
                scores, times = row.gradient(field, n)
                for j in row.nodes:
                    by_score = scores[j] * scale
                    for channel in range(d):
                        out["dq"][at][channel] += by_score * arb(float(keys[head, j, channel]))
                        out["dk"][batch, group, source(j), channel] += by_score * arb(float(q[channel]))
                    for channel in range(c):
                        out["dv"][batch, group, source(j), channel] += out["weights"][at][j] * e[channel]
                for m in range(n):
                    out["ddurations"][batch, m] += times[m]
    if upstream is not None:
        first = 0 if problem.sink == "given" else 1
        out["dk"], out["dv"] = out["dk"][:, :, first:], out["dv"][:, :, first:]
        own = problem.durations if problem.durations is not None else problem.times
        if problem.rule.startswith("taylor"):
            del out["ddurations"]
        elif own is None or np.ndim(own) == 1:
            out["ddurations"] = np.sum(out["ddurations"], axis=0) if b else balls(n)
    return out
