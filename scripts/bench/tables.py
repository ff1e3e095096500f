#!/usr/bin/env python3
"""Tables of docs/benchmarks.md from the records beside it. Python's standard library alone.

    tables.py [--check]      fills in, or compares, what stands between `<!-- RECORD_TABLE_ISA_THREADS -->` and
                             `<!-- end of RECORD_TABLE_ISA_THREADS -->`; RECORD is a file of docs/benchmarks without .json

A ratio is the other's time over that of ours, the median of the ratios within rounds: above 1 ours is faster.
"""

import argparse
import math
import re
import statistics
import sys
from pathlib import Path

import record

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = DOCS / "benchmarks.md"
BLOCK = re.compile(r"(<!-- (\w+) -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)

SOFTMAX, LINEAR, IRREGULAR = ("tiled", "step", "unit"), ("tiled", "linear", "unit"), ("tiled", "linear", "irregular")
SDPA, READ = ("torch-sdpa", "step", "unit"), ("read-and-add", None, None)
EAGER, COMPILED, CHUNKED = (("torch-" + name, "linear", "unit") for name in ("eager", "compiled", "chunked"))


def by_case(records):
    """{case: {who: record}}, cases in order."""
    cases = {}
    for entry in sorted(records, key=record.order):
        who = (entry["engine"], entry["rule"], entry["time"])
        cases.setdefault(record.case_of(entry), {})[who] = entry
    return cases


def ratio(case, above, below):
    """Median over rounds of the time of `above` over that of `below`; None where one was not measured."""
    if above not in case or below not in case:
        return None
    pairs = zip(case[above]["rounds"], case[below]["rounds"])
    return statistics.median(a / b for a, b in pairs)


def milliseconds(case, who):
    return None if who not in case else 1e3 * statistics.median(case[who]["rounds"])


def pairs(entry):
    queries, keys = entry["queries"], entry["keys"]
    unseen = queries * (queries - 1) / 2 if entry["causal"] else 0
    return entry["heads"] * (queries * keys - unseen)


def nanoseconds_per_pair(entry):
    return 1e9 * statistics.median(entry["rounds"]) / pairs(entry)


def number(x, digits=2):
    return "" if x is None else f"{x:.{digits}f}"


def time(x):
    return "" if x is None else f"{x:.3g}" if x < 100 else f"{x:.0f}"


def heads(entry):
    return str(entry["heads"]) if entry["heads"] == entry["kv_heads"] else f"{entry['heads']}:{entry['kv_heads']}"


def window(entry):
    return "causal" if entry["causal"] else "full"


def markdown(header, rows, left=1):
    """A table whose columns line up as text too."""
    cells = [header, *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    line = lambda row: "| " + " | ".join(
        cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))
    ) + " |"
    rule = "|" + "|".join("-" * (width + 1) + ("-" if i < left else ":") for i, width in enumerate(widths)) + "|"
    return "\n".join([line(header), rule, *map(line, rows)]) + "\n"


def select(records, isa, threads, direction=None):
    chosen = [r for r in records if r["isa"] == isa and r["threads"] == threads]
    return by_case(r for r in chosen if direction in (None, r["direction"]))


def any_of(case):
    return next(iter(case.values()))


def forward(records, isa, threads, direction="fwd"):
    rows = []
    for case in select(records, isa, threads, direction).values():
        if SDPA not in case:
            continue
        entry = any_of(case)
        cells = [heads(entry), str(entry["keys"]), str(entry["head_dim"]), window(entry)]
        cells += [time(milliseconds(case, who)) for who in (SOFTMAX, LINEAR, SDPA)]
        cells += [number(ratio(case, SDPA, SOFTMAX)), number(ratio(case, SDPA, LINEAR))]
        cells += [number(ratio(case, SOFTMAX, LINEAR), 3), number(ratio(case, LINEAR, IRREGULAR), 3)]
        rows.append(cells)
    header = "heads,n,d,window,softmax ms,linear ms,SDPA ms,SDPA/softmax,SDPA/linear,softmax/linear,linear/irregular"
    return markdown(header.split(","), rows, 1)


def backward(records, isa, threads):
    return forward(records, isa, threads, "fwdbwd")


def decoding(records, isa, threads):
    rows = []
    for case in select(records, isa, threads, "decode").values():
        entry = any_of(case)
        cells = [heads(entry), str(entry["keys"]), str(entry["head_dim"])]
        cells += [number(milliseconds(case, who), 3) for who in (SOFTMAX, LINEAR, IRREGULAR, READ, SDPA)]
        cells += [number(ratio(case, READ, LINEAR)), number(ratio(case, SDPA, LINEAR))]
        rows.append(cells)
    header = "heads,n,d,softmax ms,linear ms,irregular ms,reading ms,SDPA ms,reading/linear,SDPA/linear"
    return markdown(header.split(","), rows)


def peers(records, isa, threads):
    rows = []
    for case in select(records, isa, threads).values():
        entry = any_of(case)
        if EAGER not in case or entry["direction"] == "decode":
            continue
        cells = [entry["direction"], str(entry["keys"]), str(entry["head_dim"]), window(entry)]
        cells += [time(milliseconds(case, who)) for who in (LINEAR, EAGER, COMPILED, CHUNKED)]
        cells += [number(ratio(case, who, LINEAR), 1) for who in (EAGER, COMPILED, CHUNKED)]
        rows.append(cells)
    header = "passes,n,d,window,linear ms,eager ms,compiled ms,chunked ms,eager/linear,compiled/linear,chunked/linear"
    return markdown(header.split(","), rows)


def points(records, isa, threads, causal):
    """[(n, ns for each pair)] of linear, one head, d 64, forward."""
    wanted = [
        case[LINEAR]
        for case in select(records, isa, threads, "fwd").values()
        if LINEAR in case and (case[LINEAR]["heads"], case[LINEAR]["head_dim"]) == (1, 64)
    ]
    return sorted((r["keys"], nanoseconds_per_pair(r)) for r in wanted if r["causal"] == causal and r["keys"] >= 2048)


def curve(records, isa, threads):
    full, causal = (dict(points(records, isa, threads, c)) for c in (False, True))
    rows = [[str(n), number(full.get(n), 3), number(causal.get(n), 3)] for n in sorted(full.keys() | causal.keys())]
    return markdown(["n", "full ns/pair", "causal ns/pair"], rows)


def verdict(met):
    return "met" if met else "not met"


def geometric_mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def place(case):
    entry = any_of(case)
    return f"{heads(entry)}x{entry['keys']}x{entry['head_dim']} {window(entry)}"


def lowest(cases, above, below):
    """The smallest ratio with where it is, all ratios; (None, "", []) where nothing was measured."""
    found = [(ratio(case, above, below), place(case)) for case in cases if ratio(case, above, below) is not None]
    return (*min(found), [r for r, _ in found]) if found else (None, "", [])


def measures(records, isa, threads):
    """What the kernels are to reach, and whether they do. Ratios are judged before they are rounded for print."""
    of = lambda direction: list(select(records, isa, threads, direction).values())
    width = lambda cases, d: [case for case in cases if any_of(case)["head_dim"] == d]
    rows = []

    def row(what, wanted, found, where, met):
        rows.append([what, wanted, found, where, verdict(met)])

    def at_least(what, wanted, cases, above, below, digits=2):
        value, where, _ = lowest(cases, above, below)
        if value is not None:
            row(what, f"{wanted:.2f}", number(value, digits), where, value >= wanted)

    def mean(what, wanted, cases, above, below):
        _, _, all_of_them = lowest(cases, above, below)
        if all_of_them:
            value = geometric_mean(all_of_them)
            row(what, f"{wanted:.2f}", number(value), f"{len(all_of_them)} shapes", value >= wanted)

    fwd, both, decode = of("fwd"), of("fwdbwd"), of("decode")
    at_least("softmax forward, SDPA/ours: lowest", 0.97, fwd, SDPA, SOFTMAX)
    mean("linear forward, SDPA/ours: geometric mean", 1.05, fwd, SDPA, LINEAR)
    at_least("linear forward, SDPA/ours: lowest at d 64", 1.0, width(fwd, 64), SDPA, LINEAR)
    at_least("linear forward, SDPA/ours: lowest", 0.93, fwd, SDPA, LINEAR)
    for d, wanted in ((64, 0.86), (128, 0.91), (256, 0.95)):
        at_least(f"softmax/linear, forward: lowest at d {d}", wanted, width(fwd, d), SOFTMAX, LINEAR, 3)
    at_least("uniform/irregular time, forward: lowest", 0.97, fwd, LINEAR, IRREGULAR, 3)
    mean("linear forward + backward, SDPA/ours: geometric mean", 1.05, both, SDPA, LINEAR)
    at_least("linear forward + backward, SDPA/ours: lowest", 0.93, both, SDPA, LINEAR)
    causal = [case for case in both if any_of(case)["causal"]]
    mean("the same where causal: geometric mean (aim)", 1.2, causal, SDPA, LINEAR)
    at_least("decoding, reading/linear", 0.80, decode, READ, LINEAR)
    for flag in (False, True):
        line = points(records, isa, threads, flag)
        if len(line) > 1:
            spread = max(y for _, y in line) / min(y for _, y in line) - 1
            what = f"time for each pair, {'causal' if flag else 'full'}: largest over smallest"
            row(what, "within 10%", f"{100 * spread:.0f}%", f"n {line[0][0]} to {line[-1][0]}", spread <= 0.10)
    return markdown(["measure", "wanted", "found", "where", ""], rows, 1)


TABLES = {
    "forward": forward,
    "backward": backward,
    "decoding": decoding,
    "peers": peers,
    "curve": curve,
    "measures": measures,
}


def fill(text, folder):
    """The page with every table as the records have it."""

    def block(match):
        name, table, isa, threads = match.group(2).split("_")
        records = record.load(folder / f"{name}.json")["records"]
        return match.group(1) + "\n" + TABLES[table](records, isa, int(threads)) + "\n" + match.group(4)

    return BLOCK.sub(block, text)


def live_heading():
    return (
        "times in ms (one thread: of the processor); ratios: the other's time over ours, above 1 ours is faster\n\n"
        f"{'':40} {'softmax':>9} {'linear':>9} {'SDPA':>9} | {'SDPA/sm':>7} {'SDPA/lin':>8} {'sm/lin':>6} {'uni/irr':>7}"
        f" | eager/lin compiled chunked | read/lin"
    )


def live_line(case, records):
    import cases

    (found,) = by_case(records).values()
    shown = lambda above, below, width, digits=3: f"{number(ratio(found, above, below), digits) or '-':>{width}}"
    times = " ".join(f"{time(milliseconds(found, who)) or '-':>9}" for who in (SOFTMAX, LINEAR, SDPA))
    return (
        f"{cases.label(case):40} {times} | {shown(SDPA, SOFTMAX, 7)} {shown(SDPA, LINEAR, 8)} {shown(SOFTMAX, LINEAR, 6)}"
        f" {shown(LINEAR, IRREGULAR, 7)} | {shown(EAGER, LINEAR, 9, 1)} {shown(COMPILED, LINEAR, 8, 1)}"
        f" {shown(CHUNKED, LINEAR, 7, 1)} | {shown(READ, LINEAR, 8)}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    text = PAGE.read_text()
    filled = fill(text, DOCS / "benchmarks")
    if not arguments.check:
        PAGE.write_text(filled)
    elif filled != text:
        print("docs/benchmarks.md does not have the tables of its records: run scripts/bench/tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
