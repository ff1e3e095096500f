"""The file of a run: records with the seconds of every round, and what was the same for all. Python's standard library alone."""

import json
import os
import statistics
import tempfile

# What tells one measurement from another.
KEY = ("engine", "rule", "time", "direction", "heads", "kv_heads", "queries", "keys", "head_dim", "causal", "threads", "isa")
# What a record has besides.
MEASURED = ("median_s", "min_s", "processor_s", "max_error", "backend", "others", "rounds")
CASE = KEY[3:]


def rounded(x, digits=4):
    return float(f"{x:.{digits - 1}e}")


def record(runner, case, times, max_error, others):
    """One contender of a case. `others`: share of the machine that other programs took meanwhile. `rounds` are seconds of the processor for one thread, of the day for more."""
    fair = [t["wall_s"] if t["processor_s"] is None else t["processor_s"] for t in times]
    processor = None if any(t["processor_s"] is None for t in times) else rounded(statistics.median(fair))
    wall = [t["wall_s"] for t in times]
    key = {name: runner.get(name) if name in runner else case.get(name) for name in KEY}
    return key | {
        "median_s": rounded(statistics.median(wall)),
        "min_s": rounded(min(wall)),
        "processor_s": processor,
        "max_error": None if max_error is None else rounded(max_error, 2),
        "backend": runner.get("backend"),
        "others": round(others, 3),
        "rounds": [rounded(t) for t in fair],
    }


def fault(entry):
    """What is wrong with a record, or None."""
    names = set(KEY) | set(MEASURED)
    if set(entry) != names:
        return f"fields differ: {sorted(set(entry) ^ names)}"
    kinds = {
        **dict.fromkeys(("engine", "direction", "isa"), str),
        **dict.fromkeys(("heads", "kv_heads", "queries", "keys", "head_dim", "threads"), int),
        "causal": bool,
        "rounds": list,
    }
    for name, kind in kinds.items():
        if not isinstance(entry[name], kind):
            return f"{name} is {entry[name]!r}, expected {kind.__name__}"
    numbers = [entry["median_s"], entry["min_s"], *entry["rounds"]]
    if not entry["rounds"] or not all(isinstance(x, float) and x > 0 for x in numbers):
        return "times are not positive numbers"
    if not 0 <= entry["others"] <= 1:
        return f"others is {entry['others']!r}"
    if entry["engine"] == "read-and-add":
        return None
    if not isinstance(entry["max_error"], float) or not 0 <= entry["max_error"] < 1e-3:
        return f"max_error is {entry['max_error']!r}"
    return None


def key(entry):
    return tuple(entry[name] for name in KEY)


def case_of(entry):
    return tuple(entry[name] for name in CASE)


def merge(old, new):
    """Records of cases in `new` replace those of the same case: ratios are taken within one run of it."""
    replaced = {case_of(entry) for entry in new}
    return [entry for entry in old if case_of(entry) not in replaced] + new


def dump(document):
    """As text, a record a line."""
    head = {name: value for name, value in document.items() if name != "records"}
    text = json.dumps(head, indent=1)[:-2] + ',\n "records": [\n'
    lines = (json.dumps(entry, separators=(",", ":")) for entry in sorted(document["records"], key=order))
    return text + ",\n".join("  " + line for line in lines) + "\n ]\n}\n"


def order(entry):
    return (
        entry["isa"],
        entry["threads"],
        ("fwd", "fwdbwd", "decode").index(entry["direction"]),
        entry["head_dim"],
        entry["heads"],
        entry["keys"],
        entry["causal"],
        entry["engine"] != "tiled",
        entry["engine"],
        entry["rule"] or "",
        entry["time"] != "unit",
    )


def save(path, document):
    """Aside, then renamed."""
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as out:
        out.write(dump(document))
    os.chmod(out.name, 0o644)
    os.replace(out.name, path)


def load(path):
    with open(path) as file:
        document = json.load(file)
    for number, entry in enumerate(document["records"]):
        wrong = fault(entry)
        if wrong:
            raise ValueError(f"{path}: record {number}: {wrong}")
    return document
