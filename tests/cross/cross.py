#!/usr/bin/env python3
"""The independent check: NumPy float64 and SciPy against the command, and both of our own routes against each other.

    cross.py --command target/release/contattn [--cases N] [--seed S] [--plant NAME]

Prints a table for each part, worst error and worst ratio of error to allowance, and exits 1 if any ratio exceeds 1, if
anything is refused, or if a planted mistake goes unnoticed. allowance.py derives the allowances.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from pathlib import Path

import numpy as np

import allowance
import command as driver
import definition
import differences
import files
import plants
import problems
import routes

OUTPUTS = ("o", "lse", "weights", "bias")


def ratios(found, expected, allowed):
    """Error over allowance, elementwise: 0 where both are the same infinity, infinite where one is not finite alone."""
    with np.errstate(invalid="ignore"):
        error = np.abs(found - expected)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    allowed = np.broadcast_to(allowed, error.shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return error, np.where(error == 0.0, 0.0, error / allowed)


def worst(found, expected, allowed):
    if found.shape != expected.shape:
        raise AssertionError(f"shape {found.shape}, expected {expected.shape}")
    error, ratio = ratios(found, expected, allowed)
    return np.max(error, initial=0.0), np.max(ratio, initial=0.0)


def compare_forward(problem, found, engine):
    """(worst error, worst ratio) by output."""
    expected = definition.attend(problem)
    allowed = allowance.forward(problem, expected, engine)
    return {name: worst(found[name], getattr(expected, name), getattr(allowed, name)) for name in OUTPUTS}


def compare_backward(problem, found, engine, upstream_o, upstream_lse):
    """(worst error, worst ratio) by gradient. Durations may equal the forward or the backward difference."""
    expected = differences.gradients(problem, upstream_o, upstream_lse)
    forward = definition.attend(problem)
    allowed = allowance.backward(problem, forward, expected, upstream_o, upstream_lse, engine)
    result = {}
    for name, value in found.items():
        if name != "durations":
            result[f"d{name}"] = worst(value, getattr(expected, name), allowed[name])
            continue
        if np.all(np.isnan(expected.forward)):
            continue  # no step was small and large enough
        sides = [expected.forward, np.where(np.isnan(expected.backward), expected.forward, expected.backward)]
        if value.ndim == 1:
            sides, allowed[name] = [np.sum(x, axis=0) for x in sides], np.sum(allowed[name], axis=0)
        pairs = [ratios(value, side, allowed[name]) for side in sides]
        best = np.minimum(pairs[0][1], pairs[1][1])
        error = np.where(pairs[0][1] <= pairs[1][1], pairs[0][0], pairs[1][0])
        result["dD"] = np.max(error, initial=0.0), np.max(best, initial=0.0)
    return result


class Case:
    """A problem, how it goes through files, and what the command answered."""

    def __init__(self, index, problem, attributes, rng):
        self.problem, self.attributes = problem, attributes
        self.name = f"case {index}"
        b, h, g, n_q, _ = problem.lengths
        rank = 2 if b * h * g == 1 and index % 2 else 3 if b == 1 and index % 3 == 0 else 4
        self.shapes = driver.Shapes(attributes["layout"], rank)
        containers = driver.CONTAINERS if problem.dtype != "bf16" else ["safetensors"]
        self.container = containers[index % len(containers)]
        self.upstream_o = problems.stored(rng.normal(size=(b, h, n_q, problem.v.shape[3])), problem.dtype)
        self.upstream_lse = rng.normal(size=(b, h, n_q)) * (index % 3 > 0)
        self.found = self.gradients = None

    def ask(self, binary, with_gradients):
        engine = f"--engine={self.attributes['engine']}"
        arguments = binary, "case", self.problem, self.attributes["rule"], self.shapes, self.container
        self.found = driver.attend(*arguments, engine)
        if with_gradients:
            self.gradients = driver.grad(*arguments, self.upstream_o, self.upstream_lse, engine)

    def compare(self):
        engine = self.attributes["engine"]
        result = compare_forward(self.problem, self.found, engine)
        if self.gradients is not None:
            above = self.upstream_o, self.upstream_lse
            result |= compare_backward(self.problem, self.gradients, engine, *above)
        return result

    def describe(self):
        return ", ".join(f"{name} {value}" for name, value in self.attributes.items())


class Tally:
    """Worst errors and ratios by group and output."""

    def __init__(self, title):
        self.title, self.cells, self.counts, self.failures, self.notes = title, {}, defaultdict(int), [], []

    def add(self, groups, result, description):
        for group in groups:
            self.counts[group] += 1
            for name, (error, ratio) in result.items():
                old = self.cells.get((group, name), (0.0, 0.0))
                self.cells[group, name] = max(old[0], error), max(old[1], ratio)
        over = {name: pair for name, pair in result.items() if not pair[1] <= 1.0}
        if over:
            text = ", ".join(f"{name}: error {error:.3g}, {ratio:.3g} of the allowance" for name, (error, ratio) in over.items())
            self.failures.append(f"{description}\n      {text}")

    def fail(self, description):
        self.failures.append(description)

    def show(self):
        columns = list(dict.fromkeys(name for _, name in self.cells))
        width = max([len(str(group)) for group in self.counts] + [12])
        print(f"\n{self.title}")
        print(f"  {'':{width}} {'cases':>6} " + "".join(f"{name:>20}" for name in columns))
        for group, count in self.counts.items():
            cells = [self.cells.get((group, name)) for name in columns]
            text = "".join(f"{'' if c is None else f'{c[0]:.1e} ({c[1]:5.3f})':>20}" for c in cells)
            print(f"  {str(group):{width}} {count:6} {text}")
        for note in self.notes:
            print(f"  {note}")
        for failure in self.failures[:20]:
            print(f"  FAILED {failure}")
        if len(self.failures) > 20:
            print(f"  ... and {len(self.failures) - 20} more")


def run_cases(binary, seed, count, with_gradients):
    """Random problems through the command; the cases with their answers, and the table."""
    rng = np.random.default_rng(seed + 1)
    cases = []
    tally = Tally(
        "Random problems: largest error (largest error over allowance), by rule, window, sink, type, engine and time line"
    )
    for index, (problem, attributes) in enumerate(problems.generate(seed, count)):
        case = Case(index, problem, attributes, rng)
        try:
            case.ask(binary, with_gradients)
            cases.append(case)
        except (driver.Refused, AssertionError) as error:
            tally.fail(f"case {index}: {case.describe()}\n      {error}")
    timed = [0, 0]
    for case in cases:
        groups = [case.attributes[name] for name in ("rule", "window", "sink", "dtype", "engine", "timeline")]
        groups = ["all"] + [f"{name} {value}" for name, value in zip(("rule", "window", "sink", "type", "engine", "time"), groups)]
        result = case.compare()
        tally.add(groups, result, f"{case.name}: {case.describe()}")
        timed[0] += "dD" in result
        timed[1] += "durations" in (case.gradients or {})
    tally.notes.append(
        f"gradients of durations compared in {timed[0]} of {timed[1]} problems that have them; in the others a length is so "
        "short, or a score so large, that no difference in float64 resolves the curve"
    )
    tally.counts = dict(sorted(tally.counts.items(), key=lambda item: (item[0] != "all", item[0])))
    return cases, tally


def run_plants(cases):
    """Each wrong operator against the answers that the command gave: it must exceed an allowance somewhere."""
    unnoticed = []
    print("\nPlanted mistakes: where each is noticed first, with its error over the allowance")
    for name in plants.PLANTS:
        noticed = None
        tried = 0
        for case in cases:
            tried += 1
            with plants.planted(name), np.errstate(all="ignore"):
                if name in plants.IN_GRADIENTS:
                    above = case.upstream_o, case.upstream_lse
                    result = compare_backward(case.problem, case.gradients, case.attributes["engine"], *above)
                else:
                    result = compare_forward(case.problem, case.found, case.attributes["engine"])
            over = {output: ratio for output, (_, ratio) in result.items() if ratio > 1.0}
            if over:
                output = max(over, key=over.get)
                noticed = f"{case.name} of {tried} tried, {output}, {over[output]:.3g}"
                break
        print(f"  {name:42} {noticed or 'NOT NOTICED'}")
        if noticed is None:
            unnoticed.append(name)
    return unnoticed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", help="the binary; without it only our own routes are compared")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--plant", default=os.environ.get("CROSS_PLANT", ""), choices=["", *plants.PLANTS])
    options = parser.parse_args()
    began = time.monotonic()

    tallies = [routes.compare(options.seed, Tally)]
    unnoticed = []
    with tempfile.TemporaryDirectory() as folder:
        if options.command:
            binary = driver.Command(options.command, Path(folder))
            with plants.planted(options.plant), np.errstate(**({"all": "ignore"} if options.plant else {})):
                tallies += routes.against_command(binary, options.seed, Tally, worst)
                cases, tally = run_cases(binary, options.seed, options.cases, True)
                tallies.append(tally)
                tallies += files.check(binary, Tally)
    for tally in tallies:
        tally.show()
    if options.command and not options.plant:
        unnoticed = run_plants(cases)
    failures = sum(len(tally.failures) for tally in tallies) + len(unnoticed)
    comparisons = sum(tally.counts.get("all", sum(tally.counts.values())) for tally in tallies)
    planted = f" under the planted mistake {options.plant!r}" if options.plant else ""
    print(f"\ncross check{planted}: {comparisons} comparisons, {failures} failed, {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(2)
