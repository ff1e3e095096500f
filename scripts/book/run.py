"""Runs what a page shows, in the order of the page, and compares what it prints.

| on the page | what is done |
|---|---|
| block `console` | each line `$ command` is run, what follows it has to be what it prints |
| region `<!--= command -->` | the command is run, the region has to be what it prints; `<!--~` allows for the processor's rounding, `<!--@` is left to a target of make |
| block `python` | run; if its first line is a comment with a file's name, it is kept under that name for later commands |
| block `sh` | run, except `make` and installations, of which it is seen that the target or folder is there |
| block `json` | parsed |
| block `python needs NAME` | compiled: it needs a library that the check does not install |

Rust is not run here: `crates/book` makes the pages' blocks documentation tests. Each page has a folder of its own, in which the
repository's folders can be read as from its root.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from pages import ROOT

READABLE = ["tests", "docs", "crates", "proofs", "notebooks", "scripts", "README.md", "Cargo.toml", "Cargo.lock", "Makefile"]
SECONDS = 180
# Languages whose blocks are looked at, and those that only show something.
KNOWN = {"console", "python", "sh", "json", "rust", "math", "text", "cpp", "toml", "cuda"}


class Folder:
    """Where one page's commands run."""

    def __init__(self, root=ROOT):
        self.root = root
        self.path = Path(tempfile.mkdtemp(prefix="book-"))
        for name in READABLE:
            if (root / name).exists():
                (self.path / name).symlink_to(root / name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def run(self, command, errors=subprocess.STDOUT):
        environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        line = ["bash", "-o", "pipefail", "-c", command]
        try:
            done = subprocess.run(line, cwd=self.path, env=environment, stdout=subprocess.PIPE, stderr=errors, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return 124, f"no end after {SECONDS} s"
        return done.returncode, "\n".join(s.rstrip() for s in done.stdout.decode("utf-8", "replace").splitlines()).rstrip()


def steps(body):
    """(command, output) of a console block."""
    found, command, output = [], None, []
    for line in body.splitlines():
        if command is not None and command.endswith("\\"):
            command += "\n" + line
        elif line.startswith("$ "):
            if command is not None:
                found.append((command, "\n".join(output).rstrip()))
            command, output = line[2:], []
        elif command is None:
            raise ValueError(f"a console block begins with '$ ', not with {line!r}")
        else:
            output.append(line)
    if command is not None:
        found.append((command, "\n".join(output).rstrip()))
    return found


def difference(expected, actual):
    for number, (a, b) in enumerate(zip(expected.splitlines() + [""], actual.splitlines() + [""]), 1):
        if a != b:
            return f"line {number} is {b!r}, the page has {a!r}"
    return f"{len(actual.splitlines())} lines, the page has {len(expected.splitlines())}"


def alike(expected, actual):
    """The same text, with numbers that are close: within a factor of 3, or all of the size of rounding errors of float64."""
    number = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    if re.sub(number, "#", expected) != re.sub(number, "#", actual):
        return False
    pairs = zip(re.findall(number, expected), re.findall(number, actual))
    return all(a == b or max(float(a), float(b)) <= max(1e-15, 3 * min(float(a), float(b))) for a, b in pairs)


def console(folder, block, problems):
    """The block as it should be."""
    parts = []
    for command, output in steps(block.body):
        code, printed = folder.run(command)
        if code:
            problems.append(f"{command}: exit code {code}: {printed[-300:]}")
        elif printed != output:
            problems.append(f"{command}: {difference(output, printed)}")
        parts.append(f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
    return "".join(parts)


def python(folder, block, problems):
    name = re.match(r"# ([\w.]+\.py)\n", block.body)
    file = folder.path / (name[1] if name else "block.py")
    file.write_text(block.body)
    if "needs" in block.info:
        try:
            compile(block.body, str(file.name), "exec")
        except SyntaxError as error:
            problems.append(f"python: {error}")
        return
    code, printed = folder.run(f"python3 {shlex.quote(file.name)}")
    if code:
        problems.append(f"python: exit code {code}: {printed[-400:]}")


def target_is_there(folder, target):
    return re.search(rf"^{re.escape(target)}:", (folder.root / "Makefile").read_text(), re.MULTILINE)


def elsewhere(folder, region, problems):
    words = region.command.split()
    if words[0] != "make" or not target_is_there(folder, words[1]):
        problems.append(f"{region.command}: not a target that compares this page")


def shell(folder, block, problems):
    for line in re.sub(r"\\\n\s*", " ", block.body).splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "make":
            for target in (word for word in words[1:] if "=" not in word):
                if not target_is_there(folder, target):
                    problems.append(f"sh: no target {target} in the Makefile")
        elif words[:2] == ["cargo", "install"]:
            if not (folder.root / words[words.index("--path") + 1] / "Cargo.toml").is_file():
                problems.append(f"sh: {line}: no such package")
        elif (folder.root / words[0]).is_file():
            pass  # a script of the repository, named
        else:
            code, printed = folder.run(line)
            if code:
                problems.append(f"sh: {line}: exit code {code}: {printed[-300:]}")


def page(found, root=ROOT):
    """(problems, the page's text with what the commands print)."""
    problems, changes = [], []
    things = [(b.start, b) for b in found.blocks] + [(r.start, r) for r in found.regions]
    with Folder(root) as folder:
        for _, thing in sorted(things, key=lambda pair: pair[0]):
            mine, new = [], thing.body
            if not hasattr(thing, "info") and thing.kind == "@":
                elsewhere(folder, thing, mine)
            elif not hasattr(thing, "info"):
                code, printed = folder.run(thing.command, subprocess.DEVNULL)
                if code:
                    mine.append(f"{thing.command}: exit code {code}: {printed[-300:]}")
                elif thing.body.strip() != printed and not (thing.kind == "~" and alike(thing.body.strip(), printed)):
                    mine.append(f"{thing.command}: {difference(thing.body.strip(), printed)}")
                if mine:
                    new = f"\n\n{printed}\n\n" if "\n" in printed else printed
            elif thing.language == "console":
                try:
                    new = console(folder, thing, mine)
                except ValueError as error:
                    mine.append(str(error))
            elif thing.language == "python":
                python(folder, thing, mine)
            elif thing.language == "sh":
                shell(folder, thing, mine)
            elif thing.language == "json":
                try:
                    json.loads(thing.body)
                except ValueError as error:
                    mine.append(f"json: {error}")
            elif thing.language not in KNOWN:
                mine.append(f"a block of language {thing.language!r}, of which nothing is checked: {', '.join(sorted(KNOWN))}")
            problems += [f"{found.name}:{found.line(thing.start)}: {problem}" for problem in mine]
            changes.append((thing.start, thing.end, new))
    text = found.text
    for start, end, new in reversed(changes):
        text = text[:start] + new + text[end:]
    return problems, text
