"""Wrong operators: each is a mistake that implementations of attention have made, put into our side of a comparison.

A comparison that is worth running must fail under each. `CROSS_PLANT=name make cross` runs everything under one.
"""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

import definition
import differences


@contextmanager
def patched(module, name, value):
    kept = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, kept)


@contextmanager
def planted(name):
    """Our evaluation with this mistake."""
    if not name:
        yield
        return
    module, attribute, make = PLANTS[name]
    with patched(module, attribute, make(getattr(module, attribute))):
        yield


def masses(change):
    """A mistake in what nodes get from their segments."""
    return definition, "masses", lambda right: lambda rule, row, a, tau: change(right, rule, row, a, tau)


def rows(change):
    """A mistake in what rows see."""
    return definition, "resolve", lambda right: lambda problem, batch, row: change(right, problem, batch, row)


def without_bias(right, rule, row, a, tau):
    """b dropped: a softmax over whatever is visible."""
    p = np.zeros(np.broadcast_shapes(a.shape, tau.shape))
    nodes = definition.involved(row)
    p[..., nodes] = np.exp(a[..., nodes])
    return p


def wrong_neighbour(right, rule, row, a, tau):
    """The bias of the next node."""
    p = right(rule, row, a, tau)
    shifted = np.roll(np.log(np.where(p > 0, p, 1.0)) - a, 1, axis=-1)
    return np.where(p > 0, np.exp(a + shifted), 0.0)


def without_end_halving(right, rule, row, a, tau):
    """Inner and outer nodes alike: the ends of the row counted twice."""
    p = right(rule, row, a, tau).copy()
    if row.segments and rule in ("linear", "trapezoid"):
        p[..., row.segments[-1][2]] *= 2
    return p


def whole_segments(right, rule, row, a, tau):
    """Edges moved out to the nodes: cut segments count in full."""
    lower, upper = row.lower.at(tau), row.upper.at(tau)
    places = [i for segment in row.segments for i in (segment[0] - 1, segment[0])]
    if places:
        first, last = min(places), max(places)
        lower = np.minimum(lower, tau[..., first])
        upper = np.maximum(upper, tau[..., last])
    row = replace(row, lower=Edge(lower), upper=Edge(upper))
    return right(rule, row, a, tau)


class Edge:
    def __init__(self, time):
        self.time = time

    def at(self, tau):
        return self.time


def without_holds(right, rule, row, a, tau):
    """Nothing outside the nodes."""
    return right(rule, replace(row, before=None, after=None), a, tau)


def step_from_the_left(right, rule, row, a, tau):
    """Step reading the earlier node of each segment."""
    if rule != "step":
        return right(rule, row, a, tau)
    segments = [(place, max(place - 1, 1), max(place - 1, 1)) for place, _, _ in row.segments]
    return right(rule, replace(row, segments=segments), a, tau)


def trapezoid_for_linear(right, rule, row, a, tau):
    return right("trapezoid" if rule == "linear" else rule, row, a, tau)


def one_order_more(right, rule, row, a, tau):
    return right(f"taylor:{int(rule[7:]) + 1}" if rule.startswith("taylor") else rule, row, a, tau)


def unit_durations(right, rule, row, a, tau):
    return right(rule, row, a, np.broadcast_to(np.arange(tau.shape[-1], dtype=float), tau.shape))


def without_diffusion(right, rule, row, a, tau):
    """b taken as a constant by the gradient. The unperturbed problem stands in the middle of every stencil of q, k and v."""
    p = right(rule, row, a, tau)
    if a.ndim < 3 or len(a) == 1:
        return p
    # Stacks hold, element by element, offsets -3..3 without 0; the mean of +-1 stands for the unperturbed problem.
    stencil = len(differences.CENTRAL) if len(a) % len(differences.CENTRAL) == 0 else None
    if stencil is None or len(tau) > 1:
        return p
    grouped = a.reshape(-1, stencil, *a.shape[1:])
    middle = (grouped[:, 2] + grouped[:, 3]) / 2
    fixed = right(rule, row, middle, tau)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.log(fixed) - middle
    p = np.where(fixed[:, None] > 0, np.exp(grouped + b[:, None]), 0.0)
    return p.reshape(a.shape)


def unmoved_edges(right, problem, batch, row):
    """Edges that stay where they are when durations change."""
    seen = right(problem, batch, row)
    if seen.kind != "interval":
        return seen
    tau = problem.float_times()[batch]
    return replace(seen, lower=Edge(seen.lower.at(tau)), upper=Edge(seen.upper.at(tau)))


def top_left(right, problem, batch, row):
    """Row r at node r + 1 where there are fewer rows than nodes."""
    n_q, n = problem.lengths[3:]
    if n_q >= n or problem.query_times is not None or not problem.window.causal or problem.documents is not None:
        return right(problem, batch, row)
    tau = problem.float_times()
    return right(replace(problem, query_times=tau[:, 1 : 1 + n_q]), batch, row)


def no_documents(right, problem, batch, row):
    return right(replace(problem, documents=None, query_documents=None), batch, row)


def no_mask(right, problem, batch, row):
    return right(replace(problem, mask=None), batch, row)


def one_more_key(right, problem, batch, row):
    """The causal border one node late."""
    if problem.query_times is not None or not problem.window.causal:
        return right(problem, batch, row)
    tau, (n_q, n) = problem.float_times(), problem.lengths[3:]
    seats = np.clip(n - n_q + 2 + np.arange(n_q), 0, n)
    return right(replace(problem, query_times=tau[:, seats], documents=None), batch, row)


def masked_for_step_by_its_neighbour(right, problem, batch, row):
    """Step losing the node behind a masked one."""
    if problem.rule != "step" or problem.mask is None:
        return right(problem, batch, row)
    kept = np.array(problem.mask, dtype=bool)
    kept[..., 1:] &= np.array(problem.mask, dtype=bool)[..., :-1]
    return right(replace(problem, mask=kept), batch, row)


def score_mask(right, rule, row, a, tau):
    """A masked node's score set to -1e4 instead of its segments removed: phi2(-M) is about 1/M."""
    if rule != "linear":
        return right(rule, row, a, tau)
    p = right(rule, row, a, tau).copy()
    present = {place for place, _, _ in row.segments}
    for place, left, node in row.segments:
        if place + 1 not in present and place + 1 < a.shape[-1]:
            p[..., node] += np.exp(a[..., node]) * 1e-4
    return p


def heads_the_other_way(right):
    """Query head h reading key/value head h mod G."""

    def expanded(problem):
        h, g = problem.lengths[1:3]
        order = np.arange(h) % g
        keys, values = right(problem)
        return keys[:, order * (h // g)], values[:, order * (h // g)]

    return expanded


def without_copy(right):
    """A copied sink read as zeros."""
    return lambda problem, row, keys, values: (keys, values)


def scaled(right):
    """A twelfth digit off in the scale."""
    return property(lambda problem: right.fget(problem) * (1 + 1e-9))


PLANTS = {
    "b dropped": masses(without_bias),
    "wrong neighbour": masses(wrong_neighbour),
    "ends not halved": masses(without_end_halving),
    "cut segments whole": masses(whole_segments),
    "nothing held outside": masses(without_holds),
    "step from the left": masses(step_from_the_left),
    "trapezoid for linear": masses(trapezoid_for_linear),
    "one Taylor order more": masses(one_order_more),
    "durations ignored": masses(unit_durations),
    "masked by a score of -1e4": masses(score_mask),
    "top-left alignment": rows(top_left),
    "documents ignored": rows(no_documents),
    "mask ignored": rows(no_mask),
    "one key too many": rows(one_more_key),
    "step loses the node behind a masked one": rows(masked_for_step_by_its_neighbour),
    "heads by remainder": (definition, "expanded", heads_the_other_way),
    "copied sink as zeros": (definition, "with_copy", without_copy),
    "scale off by 1e-9": (definition.Problem, "scale_value", scaled),
    "gradient without diffusion": masses(without_diffusion),
    "edges do not move with durations": rows(unmoved_edges),
}
# Those that only gradients can show; the others must show in o.
IN_GRADIENTS = {"gradient without diffusion", "edges do not move with durations"}
