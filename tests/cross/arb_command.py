#!/usr/bin/env python3
"""Random problems through the command with the reference as its engine; Arb decides every rounding.

    arb_command.py --command target/release/contattn [--cases N] [--seed S]

The problems are those of problems.py: rules, windows, sinks, masks, documents, time lines, types, layouts and head counts mixed.
o, lse, weights and bias are correctly rounded by claim; gradients where 512 bits tell. Exits 1 if a number is not the rounding of its ball.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from flint import ctx

import arb as integrals
import command as driver
import problems
from corpus import verdicts


def ask(binary, problem, attributes, upstream):
    """Results by the names of the corpus, in the types that the command gives them."""
    shapes = driver.Shapes(attributes["layout"], 4)
    arguments = binary, "case", problem, attributes["rule"], shapes, "safetensors"
    found = driver.attend(*arguments, "--engine=reference")
    gradients = driver.grad(*arguments, *upstream, "--engine=reference")
    found |= {f"d{name}": gradients[name] for name in "qkv"}
    for name in "kv":
        sink = gradients.get({"k": "sink_key", "v": "sink_value"}[name])
        if sink is not None:
            found[f"d{name}"] = np.concatenate([sink, gradients[name]], axis=2)
    if "durations" in gradients:
        found["ddurations"] = gradients["durations"]
    narrow = problems.DTYPES[problem.dtype]
    wide = np.float64 if problem.dtype == "f64" else np.float32
    return {name: x.astype(wide if name in ("lse", "ddurations") else narrow) for name, x in found.items()}


def judge(problem, found, upstream):
    """Wrong and open numbers."""
    for precision in integrals.PRECISIONS:
        ctx.prec = precision
        balls = integrals.evaluate(problem, upstream)
        assert set(balls) == set(found), set(balls) ^ set(found)
        wrong, still_open = [], []
        for name, numbers in found.items():
            bad, ties = verdicts(balls[name], numbers, [])
            wrong += [(name, *w) for w in bad]
            still_open += ties
        if wrong or not still_open:
            break
    return wrong, still_open


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--cases", type=int, default=220)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    began = time.monotonic()
    rng = np.random.default_rng(options.seed + 1)
    failures, tally, rules = [], Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        binary = driver.Command(options.command, Path(folder))
        for index, (problem, attributes) in enumerate(problems.generate(options.seed, options.cases)):
            b, h, _, n_q, _ = problem.lengths
            upstream = problems.stored(rng.normal(size=(b, h, n_q, problem.v.shape[3])), problem.dtype), rng.normal(size=(b, h, n_q))
            said = f"case {index}: " + ", ".join(f"{name} {value}" for name, value in attributes.items())
            try:
                found = ask(binary, problem, attributes, upstream)
            except (driver.Refused, AssertionError) as error:
                failures.append(f"{said}\n      {error}")
                continue
            wrong, still_open = judge(problem, found, upstream)
            tally.update(cases=1, numbers=sum(x.size for x in found.values()), open=len(still_open), wrong=len(wrong))
            rules[attributes["rule"]] += 1
            failures += [f"{said}\n      {name} at {at}: {number}, Arb finds {ball}" for name, at, ball, number in wrong[:2]]
            if index == 0:  # a number moved to its neighbour is wrong
                moved = {name: x.copy() for name, x in found.items()}
                first = moved["lse"].reshape(-1)
                finite = np.flatnonzero(np.isfinite(first))
                first[finite] = np.nextafter(first[finite], np.array(np.inf, dtype=first.dtype))
                if finite.size and len(judge(problem, moved, upstream)[0]) != finite.size:
                    failures.append("a planted mistake goes unnoticed")
    for failure in failures[:20]:
        print(f"  FAILED {failure}")
    print(
        f"Arb beside --engine reference: {tally['cases']} random problems of {len(rules)} rules, {tally['numbers']} numbers, {tally['open']} "
        f"open, {tally['wrong']} wrong, {time.monotonic() - began:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
