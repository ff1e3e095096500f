#!/usr/bin/env python3
"""Tables and numbers of the pages that are read off the repository's own files: tables.py NAME prints one.

The pages name these commands in their checked regions; `check.py` runs them.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def cases():
    return json.loads((ROOT / "tests/golden/manifest.json").read_text())["cases"]


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def golden_groups():
    """Groups of the corpus with the number of their cases."""
    varies = {
        "operator": "every rule with every kind of window",
        "family": "every family of inputs in every element type: ties, tiny differences, spikes, scores of 10^11, cancelling values, "
        "irregular times",
        "mask": "key masks and packed documents with every sink",
        "time": "time lines and query times, by batch as well",
        "shape": "head_dim 1 to 128, value widths, grouped heads, decoding, no key at all",
        "measure": "rows that see nothing, or something that lasts for no time",
        "poison": "NaN and infinity, where they are seen and where they are not",
        "rounding": "results that are ties, nearly ties, subnormal, or past the largest number",
        "real": "heads of a real model",
    }
    counts = Counter(case["group"] for case in cases())
    assert set(counts) == set(varies), set(counts) ^ set(varies)
    yield from (row("group", "what varies", "cases"), "|---|---|---|")
    yield from (row(group, words, counts[group]) for group, words in varies.items())


def golden_cases():
    """How many cases there are."""
    yield str(len(cases()))


def golden_float64():
    """What float64 reaches on Linear in f64, from NumPy (tests/cross)."""
    sys.path.insert(0, str(ROOT / "tests/cross"))
    import corpus

    folder = str(ROOT / "tests/golden")
    lines, failures = corpus.by_numpy(folder, corpus.golden.manifest(folder)["cases"])
    assert not failures, failures
    yield corpus.show_table(lines)


def schema_fields():
    """Fields of the manifest, from its JSON schema."""
    schema = json.loads((ROOT / "docs/schema/golden-manifest.schema.json").read_text())
    definitions = schema["$defs"]

    def kind(value):
        if "$ref" in value:
            return value["$ref"].rsplit("/", 1)[1]
        if "const" in value:
            return f"`{value['const']}`"
        if "enum" in value:
            return ", ".join(f"`{name}`" for name in value["enum"])
        if value.get("type") == "array":
            return f"list of {kind(value['items'])}"
        if "oneOf" in value:
            return ", ".join(f"`{name}`" for name in kinds(value))
        return " or ".join(value["type"]) if isinstance(value["type"], list) else value["type"]

    def kinds(value):
        return [way["properties"]["kind"]["const"] for way in value["oneOf"]]

    def words(value):
        said = [value.get("description", "")]
        for way in value.get("oneOf", []):
            of = way["properties"]["kind"]
            needs = ", ".join(f"`{name}`" for name in way.get("required", []))
            said.append(f"`{of['const']}`" + (f" with {needs}" if needs else "") + (f": {of['description']}" if "description" in of else ""))
        return "; ".join(filter(None, said)).replace("|actual - expected|", "abs(actual - expected)").replace("|expected|", "abs(expected)")

    def lines(name, of):
        for field, value in of.get("properties", {}).items():
            yield row(f"`{name}{field}`", kind(value), words(value))
            if "properties" in value:
                yield from lines(f"{name}{field}.", value)

    titles = {
        "case": "A case",
        "output": "A result: `outputs.NAME`",
        "tolerance": "A tolerance: `outputs.NAME.tolerance.f32`",
        "certificate": "What proves forward results: `certificates.forward.TYPE`",
        "gradient_certificate": "What proves gradients: `certificates.gradients.TYPE`",
    }
    for name, title in titles.items():
        yield from ("", f"**{title}**", "", "| field | type | |", "|---|---|---|")
        yield from lines("", definitions[name])


def theorems():
    """How many theorems are proved by machine."""
    yield str(len(json.loads((ROOT / "proofs/theorems.json").read_text())))


def verdicts():
    """What `contattn verify` finds (the command has to be on the path)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "theorems.json"
        subprocess.run(["contattn", "verify", "--rounds", "1", "--json", file], check=True, stdout=subprocess.DEVNULL)
        return json.loads(file.read_text())["theorems"]


def width(theorem):
    return f"$2^{{{math.ceil(theorem['widest_log2'])}}}$" if theorem["widest_log2"] is not None else "orders as expected"


def verified_equations():
    """The numbered equations, with what `contattn verify` finds of each."""
    yield from (row("", "left and right", "compared", "widest", "by machine"), "|---|---|---|---|---|")
    for theorem in verdicts():
        if re.fullmatch(r"\(\d+\)", theorem["equation"] or ""):
            assert theorem["holds"], theorem["id"]
            sides = f"{theorem['left']}; {theorem['right']}" + ("; exactly, over the rationals" if theorem["exact"] else "")
            yield row(theorem["equation"], sides, theorem["comparisons"], width(theorem), f"`{theorem['proof']}`")


def verified_laws():
    """Everything else that `contattn verify` verifies."""
    for theorem in verdicts():
        if not re.fullmatch(r"\(\d+\)", theorem["equation"] or ""):
            assert theorem["holds"], theorem["id"]
            proof = f"; by machine `{theorem['proof']}`" if theorem["proof"] else ""
            exact = "; exactly, over the rationals" if theorem["exact"] else ""
            yield from (f"**{theorem['id']}.** {theorem['statement']}", "", "$$", theorem["latex"], "$$", "")
            yield from (f"*{theorem['left']}; {theorem['right']}: {theorem['comparisons']} compared, {width(theorem)}{exact}{proof}*", "")


def planted_proofs():
    """How many mistakes are planted in the proofs, all of which break their build (docs/proofs.md)."""
    found = re.search(r"^(\d+) of (\d+) planted changes break the build", (ROOT / "docs/proofs.md").read_text(), re.MULTILINE)
    assert found and found[1] == found[2]
    yield found[1]


def allowances():
    """The numbers that are chosen in the one table of allowances."""
    source = (ROOT / "crates/check/src/allowance.rs").read_text()
    chosen = re.search(r"pub const STANDARD: Table = Table \{ (.*?) \};", source)[1]
    numbers = dict(re.findall(r"(\w+): ([\d.]+)", chosen))
    words = dict(re.findall(r"/// (.*)\n    pub (\w+): f64,", re.search(r"pub struct Table \{.*?\n\}", source, re.DOTALL)[0]))
    yield from (row("name", "what it counts", "value"), "|---|---|---|")
    for what, name in words.items():
        yield row(f"`{name}`", what, f"{float(numbers[name]):g}")


def mistakes():
    """How many wrong engines the suite has to fail."""
    source = (ROOT / "crates/check/src/wrong/mistake.rs").read_text()
    body = re.search(r"pub enum Mistake \{(.*?)\n\}", source, re.DOTALL)[1]
    yield str(len(re.findall(r"^    [A-Z]\w*(?:\(.*\)|,| \{)", body, re.MULTILINE)))


TABLES = {function.__name__.replace("_", "-"): function for function in
          (golden_groups, golden_cases, golden_float64, schema_fields, theorems, verified_equations, verified_laws, planted_proofs, allowances, mistakes)}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in TABLES:
        sys.exit("usage: tables.py " + " | ".join(TABLES))
    print("\n".join(TABLES[sys.argv[1]]()).strip("\n"))
