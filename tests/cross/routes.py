"""Equations (10), (11) and (12) against the integrals, and against the command: causal rows on the unit time line."""

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

import allowance
import command as driver
import definition
import equations
from definition import Problem, Window

HEADS = Path(__file__).resolve().parents[1] / "data" / "smollm2-heads.safetensors"


def equation_11(problem, row_of=equations.continuous):
    """All rows of a causal problem whose sink exists, by equations (10) and (11)."""
    b, h, _, n_q, n = problem.lengths
    keys, values = definition.expanded(problem)
    if problem.sink == "copy":
        keys[:, :, 0], values[:, :, 0] = keys[:, :, 1], values[:, :, 1]
    out = definition.Result(
        np.zeros((b, h, n_q, values.shape[-1])),
        np.full((b, h, n_q), -np.inf),
        np.zeros((b, h, n_q, n + 1)),
        np.full((b, h, n_q, n + 1), -np.inf),
        [],
    )
    for batch in range(b):
        for head in range(h):
            for r in range(n_q):
                t = n - n_q + 1 + r
                at, seen = (batch, head, r), slice(t + 1)
                q, k, v = problem.q[at], keys[batch, head, seen], values[batch, head, seen]
                out.o[at], out.lse[at], out.weights[at][seen], out.bias[at][seen] = row_of(q, k, v, problem.scale_value)
    return out


def equation_12(problem):
    """All rows by (12): SciPy's softmax over nodes 1..t."""
    b, h, _, n_q, n = problem.lengths
    keys, values = definition.expanded(problem)
    o, lse = np.zeros((b, h, n_q, values.shape[-1])), np.zeros((b, h, n_q))
    weights, bias = np.zeros((b, h, n_q, n + 1)), np.full((b, h, n_q, n + 1), -np.inf)
    for at in np.ndindex(b, h, n_q):
        batch, head, r = at
        t = n - n_q + 1 + r
        q, k, v = problem.q[at], keys[batch, head, 1 : t + 1], values[batch, head, 1 : t + 1]
        o[at], lse[at], weights[at][1 : t + 1] = equations.discrete(q, k, v, problem.scale_value)
        bias[at][1 : t + 1] = 0.0
    return definition.Result(o, lse, weights, bias, [])


def gaussian(rng, sink, spread=1.0, batch=2, heads=4, kv_heads=2, n_q=6, n=9, d=8, c=5, **more):
    """A problem of normal numbers."""
    normal = lambda *shape: rng.normal(size=shape)
    problem = Problem(spread * normal(batch, heads, n_q, d), spread * normal(batch, kv_heads, n, d),
                      normal(batch, kv_heads, n, c), sink=sink, **more)
    if sink == "given":
        problem.sink_key, problem.sink_value = normal(batch, kv_heads, 1, d), normal(batch, kv_heads, 1, c)
    return problem


def exact_scores(rng, size, n=10):
    """Scores that are exact in f64 whatever the order of their sum, some equal, of sizes up to `size`.

    One column of integers times a power of two; then A = 0 in allowance.py, and the check bites at any size.
    """
    power = 2.0 ** np.floor(np.log2(size / 64))
    q = rng.integers(1, 9, size=(1, 2, 4, 1)) * power
    k = rng.integers(-8, 9, size=(1, 1, n, 1)).astype(float)
    problem = Problem(q, k, rng.normal(size=(1, 1, n, 3)), sink="given", scale=1.0)
    problem.sink_key, problem.sink_value = np.full((1, 1, 1, 1), 3.0), rng.normal(size=(1, 1, 1, 3))
    return problem


def exact_allowance(problem, expected):
    """allowance.forward with A = 0."""
    still = Problem(**{**vars(problem), "q": 0 * problem.q})
    return allowance.forward(still, expected)


def compare(seed, Tally):
    """Our own routes against each other: (11) against (2) by quadrature, Gauss-Legendre, and sixty digits."""
    rng = np.random.default_rng(seed)
    tally = Tally("Our own routes: largest difference (largest difference over allowance)")
    from cross import OUTPUTS, worst

    def add(group, problem, one, other):
        allowed = allowance.forward(problem, one)
        result = {x: worst(getattr(other, x), getattr(one, x), getattr(allowed, x)) for x in OUTPUTS}
        tally.add([group], result, group)

    for sink in ("zeros", "copy", "given"):
        for spread in (0.01, 1.0, 2.0):
            problem = gaussian(rng, sink, spread)
            eq = equation_11(problem)
            add("eq (11) and quadrature of eq (2)", problem, eq, definition.attend(problem, quadrature=True))
            add("eq (11) and Gauss-Legendre", problem, eq, definition.attend(problem))
            add("eq (11) and sixty digits", problem, eq, equation_11(problem, equations.continuous_to_many_digits))
    for window in (Window("start", "end"), Window(("at", 0.7), ("query", 0.6)), Window(("at", -1.2), ("at", 8.3)),
                   Window(("sliding", 2.6), ("query", 0.0))):
        for mask in (None, np.arange(9) != 4):
            problem = gaussian(rng, "zeros", window=window, mask=mask, durations=rng.exponential(size=9))
            both = definition.attend(problem), definition.attend(problem, quadrature=True)
            add("cut, held and masked: Gauss-Legendre and quadrature", problem, *both)
    return tally


def against_command(binary, seed, Tally, worst):
    """The equations against the command."""
    rng = np.random.default_rng(seed + 2)
    tally = Tally("Equations against the command: largest error (largest error over allowance)")
    outputs = ("o", "lse", "weights", "bias")

    def add(group, problem, rule, expected, allowed=None, engine="plain"):
        shapes = driver.Shapes("bhsd", 4)
        try:
            found = driver.attend(binary, "eq", problem, rule, shapes, "npz", f"--engine={engine}")
        except driver.Refused as error:
            tally.fail(f"{group}: {error}")
            return
        allowed = allowed or allowance.forward(problem, expected, engine)
        result = {x: worst(found[x], getattr(expected, x), getattr(allowed, x)) for x in outputs}
        tally.add([group], result, group)

    for engine in allowance.ENGINES:
        for sink in ("zeros", "copy", "given"):
            for spread in (1e-3, 1.0, 2.0):
                problem = gaussian(rng, sink, spread)
                add(f"eq (11), {engine}", problem, "linear", equation_11(problem), engine=engine)
        for spread in (1.0, 3.0):
            problem = gaussian(rng, "absent", spread)
            add(f"eq (12), softmax of SciPy, {engine}", problem, "softmax", equation_12(problem), engine=engine)
            add(f"eq (12), step of unit durations, {engine}", problem, "step", equation_12(problem), engine=engine)
    for size in (1e2, 1e3, 1e6, 1e11):
        problem = exact_scores(rng, size)
        expected = equation_11(problem, equations.continuous_to_many_digits)
        add(f"eq (11) in sixty digits, scores of {size:.0e}", problem, "linear", expected, exact_allowance(problem, expected))
    for size in (1e-3, 1e-16, 1e-160, 1e-300):
        problem = gaussian(rng, "zeros", d=1, scale=1.0)
        problem.q, problem.k = problem.q * size, np.sign(problem.k)
        expected = equation_11(problem, equations.continuous_to_many_digits)
        add(f"eq (11) in sixty digits, scores of {size:.0e}", problem, "linear", expected)

    heads = load_file(HEADS)
    for layer in ("layer00", "layer10", "layer29"):
        q, k, v = (heads[f"{layer}.{x}"].astype(np.float64) for x in "qkv")
        problem = Problem(q, k, v, dtype="f32")
        add("eq (11) on real heads, f32", problem, "linear", equation_11(problem))
        softmax = Problem(q, k, v, dtype="f32", sink="absent")
        add("eq (12) on real heads, f32", softmax, "softmax", equation_12(softmax))
    return [tally]
