#!/usr/bin/env python3
"""The golden corpus, evaluated from scratch: Arb decides every rounding, NumPy float64 shows what it can and cannot do.

    corpus.py [--golden tests/golden] [--only TEXT] [--command target/release/contattn] [--table FILE]

Exits 1 where a stored number is not the correct rounding of the ball that Arb finds, where the manifest does not fit its
schema, where float64 exceeds its allowance on a case where it should not, or where a planted mistake goes unnoticed.
"""

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from flint import arb, ctx

import arb as integrals
import definition
import golden

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs/schema/golden-manifest.schema.json"


def borders(x):
    """For each number the two borders between which everything rounds to it, as balls without radius."""
    kind = x.dtype.type
    infinity = np.array([np.inf] * x.size, dtype=kind)
    flat = x.reshape(-1)
    with np.errstate(all="ignore"):
        below, above = np.nextafter(flat, -infinity), np.nextafter(flat, infinity)
        top = np.nextafter(infinity[:1], -infinity[:1])
        under = np.nextafter(top, -infinity[:1])
    past = (3 * arb(float(top[0])) - arb(float(under[0]))) / 2 if x.size else None

    def middle(a, b):
        if np.isinf(b):
            return past if b > 0 else -past
        return (arb(float(a)) + arb(float(b))) / 2

    for a, low, high in zip(flat, below, above):
        if np.isinf(a):
            yield (past, arb("inf")) if a > 0 else (arb("-inf"), -past)
        else:
            yield middle(a, low), middle(a, high)


def verdicts(found, expected, unresolved):
    """(elements that are wrong, elements that are open) as (place, ball, number)."""
    wrong, still_open = [], []
    if found.shape != expected.shape:
        return [(found.shape, expected.shape, "shape")], []
    bounds = {entry["at"]: (entry["lower"], entry["upper"]) for entry in unresolved}
    numbers = expected.reshape(-1)
    for at, (ball, number, (low, high)) in enumerate(zip(found.reshape(-1), numbers, borders(expected))):
        if not isinstance(ball, arb):  # -infinity, or NaN: by definition
            if not (np.isnan(ball) and np.isnan(number)) and ball != number:
                wrong.append((at, ball, number))
        elif at in bounds:
            lower, upper = (arb(x) for x in bounds[at])
            if ball < lower or ball > upper:
                wrong.append((at, ball, number))
        elif np.isnan(number) or not ball.is_finite() or ball < low or ball > high:
            wrong.append((at, ball, number))
        elif number == 0 and (ball < 0 if not np.signbit(number) else ball >= 0):
            wrong.append((at, ball, number))  # a negative number that is too small for the type is -0, an exact 0 is +0
        elif not (ball > low and ball < high) or (number == 0 and np.signbit(number) and not ball < 0):
            still_open.append((at, ball, number))
    return wrong, still_open


def stored_order(case, output):
    """Unresolved elements are named by their place in the stored tensor; here by their place in ours."""
    entries = case.entry["outputs"][output].get("unresolved", [])
    if case.entry["layout"] == "bhsd" or output == "ddurations" or not entries:
        return entries
    shape = case.tensors[case.entry["outputs"][output]["tensor"]].shape
    places = case.axes(np.arange(int(np.prod(shape))).reshape(shape)).reshape(-1)
    own = {int(stored): at for at, stored in enumerate(places)}
    return [{**entry, "at": own[entry["at"]]} for entry in entries]


def compare(found, case):
    """Wrong and open elements of every result, in both types."""
    wrong, still_open, elements = [], [], 0
    for output in case.entry["outputs"]:
        for expected in {x.dtype: x for x in case.expected(output)}.values():
            elements += expected.size
            bad, ties = verdicts(found[output], expected, stored_order(case, output))
            wrong += [(output, str(expected.dtype), *w) for w in bad]
            still_open += [(output, *t) for t in ties]
    return wrong, still_open, elements


def by_arb(job):
    """One case in Arb: what is wrong, what stays open, how long it took."""
    folder, entry = job
    began = time.monotonic()
    case = golden.read(folder, entry)
    upstream = case.upstream() if entry["differentiable"] else None
    for precision in integrals.PRECISIONS:
        ctx.prec = precision
        found = integrals.evaluate(case.problem, upstream)
        missing = set(found) ^ set(entry["outputs"])
        assert missing <= {"weights", "bias"}, f"{case.name}: {missing}"
        wrong, still_open, elements = compare(found, case)
        if not still_open or wrong:
            break
    checked, integrals.Moments.checked = integrals.Moments.checked, 0
    wrong = [(*w[:3], str(w[3]), str(w[4])) for w in wrong]
    return case.name, elements, wrong, len(still_open), checked, time.monotonic() - began


def plants(folder, entries):
    """A number moved to its neighbour, in each type, is noticed."""
    chosen = {}
    for entry in entries:
        if entry["group"] == "family" and "gauss" in entry["name"]:
            chosen.setdefault(entry["dtype"], entry)
    unnoticed = []
    for dtype, entry in chosen.items():
        case = golden.read(folder, entry)
        ctx.prec = 160
        found = integrals.evaluate(case.problem, case.upstream())
        for output in entry["outputs"]:
            name = entry["outputs"][output]["tensor"]
            original = case.tensors[name]
            moved = original.copy()
            finite = np.flatnonzero(np.isfinite(moved.astype(np.float64)).reshape(-1))
            at = finite[len(finite) // 2]
            flat = moved.reshape(-1)
            flat[at] = np.nextafter(flat[at], np.array(np.inf, dtype=flat.dtype))
            case.tensors[name] = moved
            wrong, _, _ = compare(found, case)
            case.tensors[name] = original
            if len(wrong) != 1:
                unnoticed.append(f"{entry['name']}: {output} moved by one place, {len(wrong)} noticed")
    return len(chosen), unnoticed


def textbook(case):
    """o of Linear over whole segments in float64 by phi2(x) = (e^x - 1 - x)/x^2 as it is written, row by row."""
    problem = case.problem
    b, h, _, n_q, _ = problem.lengths
    o = np.zeros((b, h, n_q, problem.v.shape[3]))
    keys, values = definition.expanded(problem)
    phi2 = lambda x: (np.exp(x) - 1 - x) / x**2
    for batch in range(b):
        tau = problem.float_times()[batch]
        for r in range(n_q):
            seen = definition.resolve(problem, batch, r)
            if seen.kind != "interval":
                continue
            k, v = definition.with_copy(problem, seen, keys[batch], values[batch])
            a = problem.scale_value * np.einsum("hd,hjd->hj", problem.q[batch, :, r], k)
            p = np.zeros_like(a)
            for i, left, right in seen.segments:
                x = a[:, right] - a[:, left]
                p[:, left] += (tau[i] - tau[i - 1]) * np.exp(a[:, left]) * phi2(x)
                p[:, right] += (tau[i] - tau[i - 1]) * np.exp(a[:, right]) * phi2(-x)
            o[batch, :, r] = np.einsum("hj,hjc->hc", p, v) / np.sum(p, axis=1)[:, None]
    return o


def off_by(found, expected):
    """Largest error relative to the largest number; infinite where something is not finite."""
    if not np.all(np.isfinite(found)):
        return np.inf
    return float(np.max(np.abs(found - expected), initial=0.0) / np.max(np.abs(expected), initial=1e-300))


def by_numpy(folder, entries):
    """float64 on Linear's families of f64: the integrals, and the textbook formula. Both relative to the largest |o|."""
    lines, failures = [], []
    for entry in entries:
        if entry["group"] not in ("family", "rounding", "operator") or entry["dtype"] != "f64" or entry["rule"] != "linear":
            continue
        case = golden.read(folder, entry)
        _, expected = case.expected("o")
        expected = expected.astype(np.float64)
        with np.errstate(all="ignore"):
            quadrature = off_by(definition.attend(case.problem).o, expected)
            whole = entry["window"]["upper"]["kind"] in ("end", "query") and entry["window"]["lower"]["kind"] == "start"
            whole = whole and entry["window"]["upper"].get("offset", 0.0) == 0.0
            closed = off_by(textbook(case), expected) if whole else None
        tolerance = entry["outputs"]["o"]["tolerance"]["f64"]
        lines.append((entry["name"], quadrature, closed, tolerance["limit"] / max(float(np.max(np.abs(expected), initial=0)), 1e-300)))
    agree = [line for line in lines if line[1] <= 1e-13]
    fail = [line for line in lines if line[2] is not None and line[2] > 1e-9]
    if len(agree) < 5:
        failures.append(f"float64 quadrature agrees on {len(agree)} cases alone")
    if len(fail) < 3:
        failures.append(f"the textbook formula fails on {len(fail)} cases alone: the corpus does not show cancellation")
    return lines, failures


def show_table(lines):
    short = lambda x: "" if x is None else "not finite" if np.isinf(x) else f"{x:.1e}"
    rows = ["| case | quadrature in float64 | (e^x - 1 - x)/x^2 in float64 | limit for sums in f64 |", "|---|---|---|---|"]
    rows += [f"| {name} | {short(a)} | {short(b)} | {short(c)} |" for name, a, b, c in lines]
    return "\n".join(rows)


def check_schema(folder):
    from jsonschema import Draft202012Validator

    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    document = golden.manifest(folder)
    errors = [f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(document)]
    # Mistakes of every kind are noticed.
    plants = [("name", "A b"), ("bytes", 2**21), ("rule", "cubic"), ("layout", "sbhd"), ("surprise", 1), ("seed", -1)]
    for field, value in plants:
        broken = {**document, "cases": [{**document["cases"][0], field: value}]}
        if validator.is_valid(broken):
            errors.append(f"schema: {field} = {value!r} goes unnoticed")
    for field in document["cases"][0]:
        case = dict(document["cases"][0])
        del case[field]
        if validator.is_valid({**document, "cases": [case]}):
            errors.append(f"schema: that {field} is missing goes unnoticed")
    for case in document["cases"]:
        size = (Path(folder) / case["file"]).stat().st_size
        if size != case["bytes"]:
            errors.append(f"{case['name']}: {size} bytes, the manifest says {case['bytes']}")
    return len(document["cases"]), errors


def check_page(elements, ties):
    """The two numbers of docs/golden.md that this check finds."""
    page = (ROOT / "docs/golden.md").read_text()
    told = [int(number) for number in re.findall(r"<!--@ make cross -->(\d+)<!--/-->", page)]
    return [] if told == [elements, ties] else [f"docs/golden.md has {told}, found: {elements} numbers, {ties} of them ties"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden", default=str(ROOT / "tests/golden"))
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--table", help="write the float64 table here")
    options = parser.parse_args()
    began = time.monotonic()
    failures = []

    count, errors = check_schema(options.golden)
    print(f"schema: {count} cases, {len(errors)} mistakes")
    failures += errors

    entries = [entry for entry in golden.manifest(options.golden)["cases"] if options.only in entry["name"]]
    jobs = [(options.golden, entry) for entry in sorted(entries, key=lambda entry: -entry["bytes"])]
    groups = {entry["name"]: entry["group"] for entry in entries}
    tally = defaultdict(Counter)
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for name, elements, wrong, ties, checked, seconds in pool.imap_unordered(by_arb, jobs):
            tally[groups[name]].update(cases=1, elements=elements, ties=ties, wrong=len(wrong), integrals=checked)
            tally["all"].update(cases=1, elements=elements, ties=ties, wrong=len(wrong), integrals=checked)
            for output, dtype, at, ball, number in wrong[:3]:
                failures.append(f"{name}: {output} ({dtype}) at {at}: {number}, Arb finds {ball}")
    print("\nArb, from the integrals: every stored number is the rounding of its ball; open: ties, which no ball decides")
    print(f"  {'group':10} {'cases':>6} {'numbers':>9} {'open':>6} {'wrong':>6} {'integrated numerically':>24}")
    for group, c in tally.items():
        print(f"  {group:10} {c['cases']:6} {c['elements']:9} {c['ties']:6} {c['wrong']:6} {c['integrals']:24}")

    if not options.only:
        types, unnoticed = plants(options.golden, entries)
        print(f"\nplanted: one number moved to its neighbour in every result of {types} types, {len(unnoticed)} unnoticed")
        failures += unnoticed
        if types < 4:
            failures.append(f"plants in {types} types alone")
        failures += check_page(tally["all"]["elements"], tally["all"]["ties"])
        lines, bad = by_numpy(options.golden, entries)
        failures += bad
        print("\nNumPy float64 on Linear in f64: largest error relative to the largest |o|")
        print(show_table(lines))
        if options.table:
            Path(options.table).write_text(show_table(lines) + "\n")
    for failure in failures[:40]:
        print(f"  FAILED {failure}")
    print(f"\ngolden corpus: {tally['all']['elements']} numbers, {len(failures)} failures, {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
