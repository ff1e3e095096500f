"""Seeded problems: a spread over rules, windows, sinks, masks, documents, types, head counts, widths and time lines.

Attributes are dealt round-robin from lists of different lengths, each shuffled by the seed, so that every value of every
attribute occurs and pairs of them mix; combinations that the operator refuses (Taylor off the unit time line) are mended to
the nearest that it takes.
"""

import numpy as np
from ml_dtypes import bfloat16

import differences
from definition import Problem, Window

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": bfloat16}

RULES = ["linear", "step", "linear", "softmax", "trapezoid", "linear", "taylor:0", "taylor:1", "linear", "taylor:3", "step"]
WINDOWS = ["causal", "full", "sliding", "between", "causal between", "start..t+", "lower rows", "upper rows", "beyond",
           "sliding whole", "..t-", "at nodes", "both rows"]
SINKS = ["zeros", "copy", "given", "absent"]
MASKS = ["none", "random", "none", "leading", "batched", "trailing", "alternating"]
DOCUMENTS = ["none", "none", "packed", "none", "batched", "queries"]
TYPES = ["f64", "f32", "f64", "f16", "bf16"]
HEADS = [(1, 1), (4, 2), (2, 2), (6, 1), (9, 3)]
WIDTHS = [(4, 4), (1, 3), (8, 2), (3, 5), (16, 1), (5, 8)]
TIMELINES = ["unit", "durations", "times", "zero durations", "batched durations", "unit", "batched times", "dyadic"]
QUERIES = ["last", "all", "more", "fewer", "given", "given at nodes", "given batched"]
FAMILIES = ["gauss", "peaked", "close", "offset"]
LAYOUTS = ["bhsd", "bshd"]
BATCHES = [1, 2, 3]
LENGTHS = [6, 1, 9, 4, 13, 2]
ENGINES = ["plain", "plain-f32", "plain"]
SCALES = [None, None, 0.37, 1.0]


def dealt(rng, values, count):
    """`count` values, each as often as any other, in random order."""
    rounds = [rng.permutation(len(values)) for _ in range(-(-count // len(values)))]
    return [values[i] for i in np.concatenate(rounds)[:count]]


def stored(x, dtype):
    """Rounded to a type once, as float64."""
    return np.asarray(x).astype(DTYPES[dtype]).astype(np.float64)


def tensors(rng, family, shape_q, shape_k, shape_v):
    """q, k and v of a family."""
    q, k, v = rng.normal(size=shape_q), rng.normal(size=shape_k), rng.normal(size=shape_v)
    if family == "peaked":
        q, k = 3 * q, 2 * k
    elif family == "close":  # neighbouring scores differ by little: the removable points of phi2 and psi
        k = k[:, :, :1] + 1e-3 * k
    elif family == "offset":  # values whose mean is far from 0
        v = v + 5
    return q, k, v


def timeline(rng, kind, batch, n):
    """(durations, times) of which one is None; both on the unit time line."""
    if kind == "unit":
        return None, None
    shape = (batch, n) if "batched" in kind else (n,)
    durations = 0.2 + rng.exponential(0.8, size=shape)
    if kind == "dyadic":
        durations = rng.integers(1, 9, size=shape) / 4.0
    if kind == "zero durations":
        durations = np.where(rng.random(shape) < 0.4, 0.0, durations)
    if "times" in kind:
        first = rng.normal(size=(*shape[:-1], 1))
        return None, np.concatenate([first, first + np.cumsum(durations, axis=-1)], axis=-1)
    return durations, None


def window(rng, kind, problem):
    """A window of this kind, in the range of the problem's times."""
    batch, _, _, n_q, n = problem.lengths
    tau = problem.float_times()
    low, high = float(tau.min()), float(tau.max())
    span = max(high - low, 1.0)
    within = lambda a, b: round(float(rng.uniform(low + a * span, low + b * span)), 3)
    rows = lambda a, b: np.sort(rng.uniform(low + a * span, low + b * span, size=n_q))
    if kind == "causal":
        return Window()
    if kind == "full":
        return Window("start", "end")
    if kind == "sliding":
        return Window(("sliding", round(float(rng.uniform(0.1, 0.7)) * span, 3)), ("query", 0.0))
    if kind == "sliding whole":
        return Window(("sliding", float(rng.integers(1, 4))), ("query", 0.0))
    if kind == "between":
        return Window(("at", within(0.0, 0.4)), ("at", within(0.5, 1.0)))
    if kind == "causal between":
        return Window(("at", low + 0.5), ("query", 0.5))
    if kind == "start..t+":
        return Window("start", ("query", round(float(rng.uniform(0.1, 1.7)), 3)))
    if kind == "..t-":
        return Window("start", ("query", -round(float(rng.uniform(0.1, 0.9)), 3)))
    if kind == "beyond":
        return Window(("at", round(low - 1.3, 3)), ("at", round(high + 0.7, 3)))
    if kind == "at nodes":
        a, b = sorted(rng.integers(0, n + 1, size=2))
        return Window(("at", float(tau[0, a])), ("at", float(tau[0, b])))
    if kind == "lower rows":
        return Window(("at", rows(-0.1, 0.6)), ("query", 0.0))
    if kind == "upper rows":
        return Window("start", ("at", rows(0.3, 1.1)))
    lower = rng.uniform(low, low + 0.5 * span, size=(batch, n_q))
    return Window(("at", lower), ("at", lower + rng.uniform(0.0, 0.6 * span, size=(batch, n_q))))


def key_mask(rng, kind, batch, n):
    if kind == "none":
        return None
    if kind == "leading":
        return np.arange(n) >= min(2, n - 1)
    if kind == "trailing":
        return np.arange(n) < max(1, n - 2)
    if kind == "alternating":
        return np.arange(n) % 3 != 1
    return rng.random((batch, n) if kind == "batched" else (n,)) < 0.75


def packed(rng, batch, n):
    """Runs of random lengths with arbitrary numbers."""
    shape = (n,) if batch is None else (batch, n)
    runs = np.cumsum(rng.random(shape) < 0.35, axis=-1)
    return np.array([7, -3, 12, 0, 5, 9, 1, 2, 40, 41, 42, 43, 44, 45])[runs]


def query_times(rng, kind, problem, n_q):
    batch, n = problem.lengths[0], problem.lengths[4]
    tau = problem.float_times()
    low, high = float(tau.min()), float(tau.max())
    if kind == "given":
        return np.round(rng.uniform(low - 0.2, high + 0.4, size=n_q), 3)
    if kind == "given batched":
        return np.round(rng.uniform(low, high + 0.4, size=(batch, n_q)), 3)
    return tau[0, rng.integers(0, n + 1, size=n_q)]


def generate(seed, count):
    """(Problem, attributes) `count` times."""
    rng = np.random.default_rng(seed)
    lists = dict(rule=RULES, window=WINDOWS, sink=SINKS, mask=MASKS, documents=DOCUMENTS, dtype=TYPES, heads=HEADS,
                 widths=WIDTHS, timeline=TIMELINES, queries=QUERIES, family=FAMILIES, layout=LAYOUTS, batch=BATCHES,
                 n=LENGTHS, scale=SCALES, engine=ENGINES)
    hands = {name: dealt(rng, values, count) for name, values in lists.items()}
    for i in range(count):
        case = {name: hand[i] for name, hand in hands.items()}
        problem = build(rng, case)
        for _ in range(40):
            if differences.room(problem) >= differences.REACH:
                break
            problem = build(rng, case)
        yield problem, case


def build(rng, case):
    """The problem of these attributes, which it changes where they do not go together."""
    taylor = case["rule"].startswith("taylor")
    if taylor or case["rule"] == "softmax":
        case["timeline"] = "unit"
    # Taylor reads whole segments alone: no cut ones, and no curve held beyond the nodes of a document.
    held = case["sink"] == "absent" or case["mask"] != "none" or case["documents"] != "none"
    if taylor and case["window"] not in ("causal", "full", "sliding whole", *([] if held else ["at nodes"])):
        case["window"] = "causal"
    if taylor and case["family"] == "peaked":
        case["family"] = "gauss"  # far outside the radius of convergence b is a large polynomial, and so is its rounding
    if taylor and case["documents"] == "queries":
        case["documents"] = "packed"
    if taylor and case["documents"] != "none":
        case["queries"] = "all"
    if taylor and case["queries"] in ("given", "given batched"):
        case["queries"] = "given at nodes"
    if case["documents"] != "none" and case["queries"] == "more":
        case["queries"] = "all"  # a row that sits at no node of a document belongs to none
    if case["documents"] == "queries":
        case["queries"] = "given" if not taylor else "given at nodes"
    if case["rule"] == "softmax":
        case["sink"] = "absent"
    batch, n, (heads, kv_heads), (d, c) = case["batch"], case["n"], case["heads"], case["widths"]
    n_q = {"last": min(3, n), "all": n, "more": n + 2, "fewer": max(1, n - 2)}.get(case["queries"], 4)
    shapes = (batch, heads, n_q, d), (batch, kv_heads, n, d), (batch, kv_heads, n, c)
    q, k, v = (stored(x, case["dtype"]) for x in tensors(rng, case["family"], *shapes))
    durations, times = timeline(rng, case["timeline"], batch, n)
    problem = Problem(q, k, v, sink=case["sink"], durations=durations, times=times, scale=case["scale"],
                      dtype=case["dtype"], rule="step" if case["rule"] == "softmax" else case["rule"])
    if case["sink"] == "given":
        problem.sink_key = stored(rng.normal(size=(batch, kv_heads, 1, d)), case["dtype"])
        problem.sink_value = stored(rng.normal(size=(batch, kv_heads, 1, c)), case["dtype"])
    problem.window = window(rng, case["window"], problem)
    problem.mask = key_mask(rng, case["mask"], batch, n)
    if case["documents"] != "none":
        problem.documents = packed(rng, batch if case["documents"] == "batched" else None, n)
    if case["documents"] == "queries":
        problem.query_documents = rng.choice(problem.documents, size=n_q)
    if case["queries"].startswith("given"):
        problem.query_times = query_times(rng, case["queries"], problem, n_q)
    return problem
