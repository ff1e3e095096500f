#!/usr/bin/env python3
"""Both sides of every equation of the derivation in Arb's ball arithmetic, and the laws of the operator.

    arb_theorems.py [--command target/release/contattn] [--rounds N]

One side is an integral, taken by Arb's certified adaptive quadrature or by Kummer's function; the other is the formula of the
text. They must overlap, and neither may be wider than 2^-100 of its size. A constant that is wrong in its 30th bit must be
noticed in every equation. With a command, its expansion of b must have the coefficients that equations.py finds, and its own theorems
must hold for the same equations.
"""

import argparse
import json
import random
import re
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from flint import acb, arb, ctx

import arb as integrals
import equations
from definition import Problem, Window

BITS = 224
WIDTH = arb(2) ** -100
WRONG = 1 + arb(2) ** -30  # what a planted mistake multiplies

# Differences of scores: beside the removable point, around 1, and large.
DIFFERENCES = [1e-30, -1e-30, 1e-12, -1e-8, 0.3, -0.9, 1.0, -1.0, 1.5, 20.0, -20.0, 300.0, -300.0]


def integrate(f, low, high):
    """int f over [low, high], real, with what the quadrature leaves."""
    total = acb.integral(lambda s, _: f(s), low, high).real
    assert total.is_finite()
    return total


def phi1(x):
    return (x.exp() - 1) / x


def phi2(x):
    return (x.exp() - 1 - x) / x**2


class Curve:
    """a and v piecewise linear through their numbers at 0..n, v with one channel."""

    def __init__(self, rng, n, differences):
        self.n = n
        a, self.a = arb(rng.uniform(-2, 2)), []
        for x in [None, *differences[: n]]:
            a = a if x is None else a + arb(x)
            self.a.append(a)
        self.v = [arb(rng.gauss(0, 1)) for _ in range(n + 1)]

    def segment(self, i, curve):
        """int over segment i of e^a times `curve`, which is linear there."""
        a0, x, c0, c1 = self.a[i - 1], self.a[i] - self.a[i - 1], curve[i - 1], curve[i]
        if abs(float(x.mid())) > 400:  # the quadrature would need too many steps
            m = [a0.exp() * x.hypgeom_1f1(k + 1, k + 2) / (k + 1) for k in range(2)]
            return c0 * m[0] + (c1 - c0) * m[1]
        return a0.exp() * integrate(lambda s: (acb(x) * s).exp() * (acb(c0) + acb(c1 - c0) * s), 0, 1)

    def whole(self, curve):
        return sum((self.segment(i, curve) for i in range(1, self.n + 1)), arb(0))

    def bias(self):
        """(10)"""
        e = [arb(0)] * (self.n + 1)
        for i in range(1, self.n + 1):
            e[i - 1] += phi2(self.a[i] - self.a[i - 1])
            e[i] += phi2(self.a[i - 1] - self.a[i])
        return e


def equation_6(curve, x, wrong):
    yield integrate(lambda s: (acb(x) * s).exp(), 0, 1), phi1(x) * wrong
    yield integrate(lambda s: (acb(x) * s).exp() * (1 - s), 0, 1), phi2(x) * wrong
    # The value 1 at 0: phi1(x) - 1 is x times an integral of at most e^|x|.
    yield integrate(lambda s: (acb(x) * s).exp() * (1 - s), 0, 1) * x + 1, phi1(x) * wrong


def equation_7(curve, x, wrong):
    yield integrate(lambda s: (acb(x) * s).exp() * s, 0, 1), (phi1(x) - phi2(x)) * wrong
    yield integrate(lambda s: (acb(x) * s).exp() * s, 0, 1), x.exp() * phi2(-x) * wrong


def equation_4(curve, x, wrong):
    for i in range(1, curve.n + 1):
        y, v = curve.a[i] - curve.a[i - 1], curve.v
        right = curve.a[i - 1].exp() * (phi1(y) * v[i] + phi2(y) * wrong * (v[i - 1] - v[i]))
        yield curve.segment(i, v), right


def equation_5(curve, x, wrong):
    for i in range(1, curve.n + 1):
        yield curve.segment(i, [arb(1)] * (curve.n + 1)), curve.a[i - 1].exp() * phi1(curve.a[i] - curve.a[i - 1]) * wrong


def quotient(curve):
    return curve.whole(curve.v) / curve.whole([arb(1)] * (curve.n + 1))


def equation_8(curve, x, wrong):
    top = below = arb(0)
    for i in range(1, curve.n + 1):
        y, e = curve.a[i] - curve.a[i - 1], curve.a[i - 1].exp()
        top += e * (phi1(y) * curve.v[i] + phi2(y) * (curve.v[i - 1] - curve.v[i]))
        below += e * phi1(y) * wrong
    yield quotient(curve), top / below


def equation_9(curve, x, wrong):
    total = sum((a.exp() * e * v for a, e, v in zip(curve.a, curve.bias(), curve.v)), arb(0))
    yield curve.whole(curve.v), total * wrong


def equation_10(curve, x, wrong):
    """e^{a_i + b_i} is int e^a N_i, N_i the hat of node i."""
    for i, (a, e) in enumerate(zip(curve.a, curve.bias())):
        yield curve.whole([arb(int(j == i)) for j in range(curve.n + 1)]), a.exp() * e * wrong


def equation_11(curve, x, wrong):
    logits = [a + e.log() for a, e in zip(curve.a, curve.bias())]
    top = max(logits, key=lambda y: y.mid())
    w = [(y - top).exp() for y in logits]
    w[0] *= wrong
    yield quotient(curve), sum((p * v for p, v in zip(w, curve.v)), arb(0)) / sum(w, arb(0))


def equation_12(curve, x, wrong):
    """Softmax over 1..n is the same quotient for the curve that is constant on each segment, with its right end's numbers."""
    constant = [integrate(lambda s: acb(a).exp(), 0, 1) for a in curve.a[1:]]
    left = sum((e * v for e, v in zip(constant, curve.v[1:])), arb(0)) / sum(constant, arb(0))
    w = [(a - curve.a[1]).exp() for a in curve.a[1:]]
    w[0] *= wrong
    yield left, sum((p * v for p, v in zip(w, curve.v[1:])), arb(0)) / sum(w, arb(0))


def equation_13(curve, x, wrong):
    """b less its expansion to degree m, over r^{m+1}, tends to the next part: Richardson's extrapolation at u, w of 2^-90 r."""
    order = 3
    interior, end = equations.taylor(order + 1)
    ctx.prec, before = 1200, ctx.prec
    u, w, r = arb(0.75), arb(-0.5), arb(2) ** -90
    b = (phi2(u * r) + phi2(w * r)).log()
    part = lambda d, powers: sum((integrals.exactly(c) * u**i * w**j for (i, j), c in powers.items() if i + j == d), arb(0))
    rest = b - sum((part(d, interior) * r**d for d in range(1, order + 1)), arb(0)) * (wrong if wrong != 1 else 1)
    inside = rest / r ** (order + 1)
    b = phi2(u * r).log() + arb(2).log()
    one = lambda d: integrals.exactly(end.get(d, Fraction(0))) * u**d
    at_end = (b - sum((one(d) * r**d for d in range(1, order + 1)), arb(0)) * wrong) / r ** (order + 2)
    ctx.prec = before
    # What is left is O(r), far below 2^-60; relative to 1, since a part may vanish.
    yield (inside - part(order + 1, interior)) * arb(2) ** 60, None
    yield at_end * r, None


EQUATIONS = {
    "4": equation_4, "5": equation_5, "6": equation_6, "7": equation_7, "8": equation_8, "9": equation_9,
    "10": equation_10, "11": equation_11, "12": equation_12, "13": equation_13,
}


def holds(left, right):
    if right is None:  # a limit: what should be small is
        return abs(left) < 1
    if not left.overlaps(right):
        return False
    size = max(abs(left).abs_upper(), abs(right).abs_upper(), key=lambda y: y.mid())
    return all(side.rad() <= WIDTH * size for side in (left, right))


def run_equations(rounds, rng):
    failures = []
    print("equations in Arb: instances, and whether a constant that is wrong in its 30th bit is noticed")
    for name, equation in EQUATIONS.items():
        compared, noticed = 0, False
        for round_ in range(rounds):
            for x in DIFFERENCES:
                ctx.prec = BITS + 2 * 110 if abs(x) < 1e-9 else BITS + 900 if abs(x) > 100 else BITS
                others = [rng.choice(DIFFERENCES[2:11]) * rng.uniform(0.5, 1.5) for _ in range(4)]
                curve = Curve(rng, 5, [x, *others])
                for left, right in equation(curve, arb(x), arb(1)):
                    compared += 1
                    if not holds(left, right):
                        failures.append(f"({name}) at x = {x}: {left}, {right}")
                noticed |= not all(holds(left, right) for left, right in equation(curve, arb(x), WRONG))
        print(f"  ({name}){'':{4 - len(name)}} {compared:5} compared, mistake {'noticed' if noticed else 'NOT NOTICED'}")
        if not noticed:
            failures.append(f"({name}): a planted mistake is not noticed")
    return failures


def problem(rng, n=6, rule="linear", **more):
    """A small problem with exact dyadic numbers, so that changes of it are exact as well."""
    tensor = lambda *shape: rng.integers(-24, 25, size=shape) / 8.0
    fields = dict(q=tensor(1, 1, 3, 2), k=tensor(1, 1, n, 2), v=tensor(1, 1, n, 2), sink="given", sink_key=tensor(1, 1, 1, 2),
                  sink_value=tensor(1, 1, 1, 2), rule=rule, window=Window("start", "end"), durations=rng.integers(1, 9, size=n) / 4.0)
    return Problem(**{**fields, **more})


def changed(p, **more):
    fields = {name: getattr(p, name) for name in p.__dataclass_fields__}
    return Problem(**{**fields, **more})


def laws(rng):
    """(name, one problem, another, the change of lse) whose o are equal."""
    p = problem(rng)
    n = p.k.shape[2]
    both = lambda first, rest: np.concatenate([first, rest], axis=2)
    keys, values = both(p.sink_key, p.k), both(p.sink_value, p.v)
    # An interpolated node in the middle of segment i.
    i = int(rng.integers(1, n + 1))
    insert = lambda x: np.concatenate([x[:, :, :i], (x[:, :, i - 1 : i] + x[:, :, i : i + 1]) / 2, x[:, :, i:]], axis=2)[:, :, 1:]
    halves = np.insert(p.durations, i - 1, 0.0)
    halves[i - 1] = halves[i] = p.durations[i - 1] / 2
    yield "an interpolated node (Linear)", p, changed(p, k=insert(keys), v=insert(values), durations=halves), 0
    step = changed(p, rule="step")
    twice = lambda x: np.insert(x, i - 1, x[:, :, i - 1], axis=2)
    yield "a token in two halves (Step)", step, changed(step, k=twice(p.k), v=twice(p.v), durations=halves), 0
    backwards = lambda x: x[:, :, ::-1]
    reverse = changed(p, k=backwards(keys)[:, :, 1:], v=backwards(values)[:, :, 1:], sink_key=backwards(keys)[:, :, :1],
                      sink_value=backwards(values)[:, :, :1], durations=p.durations[::-1])
    yield "reversal", p, reverse, 0
    yield "reversal (Trapezoid)", changed(p, rule="trapezoid"), changed(reverse, rule="trapezoid"), 0
    times = np.concatenate([[0.0], np.cumsum(p.durations)])
    cut = changed(p, window=Window(("at", float(times[1]) + 0.125), ("at", float(times[-1]) - 0.125)))
    moved = changed(cut, durations=None, times=times + 5.5, window=Window(("at", float(times[1]) + 5.625), ("at", float(times[-1]) + 5.375)))
    yield "a shift of time", cut, moved, 0
    scaled = changed(cut, durations=8 * p.durations, window=Window(("at", 8 * float(times[1]) + 1), ("at", 8 * float(times[-1]) - 1)))
    yield "time 8 times as long", cut, scaled, arb(8).log()
    unit = changed(p, rule="step", durations=None)
    ordinary = changed(p, rule="step", durations=np.full(n, 4.0))
    yield "softmax at any common duration (Step)", unit, ordinary, arb(4).log()
    alone = changed(p, k=p.k[:, :, :3], v=p.v[:, :, :3], durations=p.durations[:3])
    packed = changed(p, documents=np.array([7] * 3 + [9] * (n - 3)), query_documents=np.array([7, 7, 7]))
    yield "a packed document", alone, packed, 0


def run_laws(rounds, seed):
    failures, compared, noticed = [], 0, 0
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        for name, one, other, shift in laws(rng):
            ctx.prec = BITS
            a, b = integrals.evaluate(one, None), integrals.evaluate(other, None)
            shift = arb(shift)
            for x, y in zip(a["o"].reshape(-1), b["o"].reshape(-1)):
                compared += 1
                if not (x.overlaps(y) and max(x.rad(), y.rad()) < WIDTH * 100):
                    failures.append(f"{name}: o is {x} and {y}")
            for x, y in zip(a["lse"].reshape(-1), b["lse"].reshape(-1)):
                if not (x + shift).overlaps(y):
                    failures.append(f"{name}: lse is {x + shift} and {y}")
            wrong = integrals.evaluate(changed(other, v=other.v + 2.0**-30), None)
            noticed += not all(x.overlaps(y) for x, y in zip(a["o"].reshape(-1), wrong["o"].reshape(-1)))
    laws_count = sum(1 for _ in laws(rng))
    print(f"laws in Arb: {laws_count} laws, {compared} numbers compared, {noticed} of {rounds * laws_count} mistakes noticed")
    if noticed < rounds * laws_count:
        failures.append("a value that is wrong in its 30th bit goes unnoticed")
    return failures


def parsed(text):
    """The coefficients of an expansion as the command prints it: exponents of (u, w) to rationals."""
    found = {}
    # (sum)/d, or a single monomial over d, each with the sign before it
    for sign, group, single, below in re.findall(r"([+-]?) ?(?:\(([^)]*)\)|([0-9uw^ ]*[uw][0-9uw^ ]*))(?:/(\d+))?", text):
        for own, term in re.findall(r"([+-]?) ?([0-9uw^ ]+)", group or single):
            factors = term.split()
            if not factors:
                continue
            whole = int(factors[0]) if factors[0].isdigit() else 1
            powers = {"u": 0, "w": 0}
            for factor in factors[1:] if factors[0].isdigit() else factors:
                name, _, exponent = factor.partition("^")
                powers[name] += int(exponent or 1)
            c = Fraction(whole * (-1) ** ((sign == "-") + (own == "-")), int(below or 1))
            found[powers["u"], powers["w"]] = found.get((powers["u"], powers["w"]), 0) + c
    return found


def run_command(binary):
    failures = []
    order = 6
    said = subprocess.run([binary, "taylor", f"--order={order}", "--json"], capture_output=True, text=True, check=True).stdout
    document = json.loads(said)
    interior, end = equations.taylor(order)
    if parsed(document["interior"]) != interior:
        failures.append(f"taylor: {document['interior']} is not {interior}")
    if not document["end"].startswith("-log 2 + "):
        failures.append(f"taylor: {document['end']}")
    if parsed(document["end"].removeprefix("-log 2 ")) != {(i, 0): c for i, c in end.items()}:
        failures.append(f"taylor: {document['end']} is not {end}")
    ctx.prec = 400
    for text in ("1e-16", "-40", "0.1", "716", "-3.25"):
        said = subprocess.run([binary, "phi", text, "--digits=60", "--json"], capture_output=True, text=True, check=True).stdout
        line, x = json.loads(said)[0], integrals.exactly(Fraction(text))
        moments = [x.hypgeom_1f1(k + 1, k + 2) / (k + 1) for k in range(3)]
        values = {
            "phi1": moments[0],
            "phi2": moments[0] - moments[1],
            "phi3": (moments[0] - 2 * moments[1] + moments[2]) / 2,
            "psi": moments[1] - moments[2],
        }
        for name, value in values.items():
            digits = arb(line[name])
            last = arb(10) ** (int(line[name].partition("e")[2] or 0) - 59)
            if not abs(digits - value) < last * arb("0.500001"):
                failures.append(f"{name}({text}): {line[name]}, Arb finds {value}")
    path = Path(binary).parent / "arb-theorems.json"
    done = subprocess.run([binary, "verify", "--rounds=1", f"--json={path}"], capture_output=True, text=True)
    theorems = json.loads(path.read_text())["theorems"]
    path.unlink()
    held = {(t["equation"] or "").strip("()") for t in theorems if t["holds"]}
    if done.returncode != 0 or not set(EQUATIONS) <= held:
        failures.append(f"verify: exit code {done.returncode}, equations {sorted(set(EQUATIONS) - held)} do not hold\n{done.stdout}")
    print(f"the command: expansion to order {order}, phi to 60 digits, {len(theorems)} theorems")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", help="the binary, whose expansion and theorems are compared too")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    failures = run_equations(options.rounds, random.Random(2026)) + run_laws(options.rounds, 2026)
    if options.command:
        failures += run_command(options.command)
    for failure in failures[:20]:
        print(f"  FAILED {failure}")
    print(f"theorems in Arb: {len(failures)} failures, {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
