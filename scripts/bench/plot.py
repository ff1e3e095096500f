#!/usr/bin/env python3
"""The curve of docs/benchmarks.md: time for each (query, key) pair against length.

    plot.py RECORD ISA THREADS      writes docs/images/time-per-pair-RECORD.png; RECORD is a file of docs/benchmarks without .json
"""

import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import record
import tables


def main():
    name, isa, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    document = record.load(tables.DOCS / "benchmarks" / f"{name}.json")
    figure, axes = plt.subplots(figsize=(7.2, 4.0), dpi=150)
    highest = 0.0
    for causal, colour, marker in ((False, "#1f5fa8", "o"), (True, "#c4571b", "s")):
        points = tables.points(document["records"], isa, threads, causal)
        lowest = min(y for _, y in points)
        highest = max(highest, *(y for _, y in points))
        label = "causal" if causal else "full"
        axes.plot(*zip(*points), color=colour, marker=marker, label=f"{label} (lowest {lowest:.2f} ns)")
        axes.axhspan(lowest, 1.1 * lowest, color=colour, alpha=0.10, linewidth=0)
    axes.set_xscale("log", base=2)
    lengths = [n for n, _ in tables.points(document["records"], isa, threads, False)]
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.set_ylim(0, 1.08 * highest)
    axes.set_xlabel("queries and keys, n")
    axes.set_ylabel("ns for each (query, key) pair")
    thread = "one thread" if threads == 1 else f"{threads} threads"
    axes.set_title(f"Continuous attention forward, one head, d = 64, {isa.upper()}, {thread}", fontsize=10)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", title="bands: within 10% of the lowest", title_fontsize=8, fontsize=8)
    figure.tight_layout()
    figure.savefig(tables.DOCS / "images" / f"time-per-pair-{name}.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
