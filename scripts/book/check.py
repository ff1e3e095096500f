#!/usr/bin/env python3
"""Checks the pages of the book and the README: every displayed number, link and code block.

    check.py               what the pages show is what commands print; links lead somewhere; and the rules below
    check.py --write       write into the pages what the commands print
    check.py --plants      break each rule in a small book, and see that it is noticed
    check.py --site DIR    the built site: links, anchors, nothing loaded from elsewhere; makes the pages that show files

Pages can be named: `check.py docs/taylor.md`. `run.py` says what is run.
"""

import json
import re
import sys
from pathlib import Path

import pages as reader
import run
import site_pages
from pages import ROOT

# Numbers that a command, not a person, should have written: decimals, powers of ten, percentages, and long counts.
NUMBER = re.compile(r"(?<![\w./-])\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+|\s?%|\d{3,}|\.\d+e\d+)(?![\w/]|\.\d)")
# Constants that are chosen, not found: powers of ten and of two, years, versions of programs.
CHOSEN = re.compile(r"1e[+-]?\d+|1024|2048|4096|8192|16384|32768|65536|(19|20)\d\d")
VERSION = re.compile(r"(Coq|rustc|Python|Debian|python-flint|mpmath|Triton|PyTorch) $")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d\b")
# Numbers of papers: 4 digits, a point, 4 or 5 digits.
IDENTIFIER = re.compile(r"\d{4}\.\d{4,5}(v\d)?")
OTHERS = re.compile(r"^[a-z]+://")


def links(page, root):
    names = {}
    for place, link in page.links():
        if OTHERS.match(link) or link.startswith("mailto:"):
            continue
        target, _, anchor = link.partition("#")
        path = (root / page.name).parent / target if target else root / page.name
        if not path.exists():
            yield place, f"no file {target}"
        elif anchor and path.suffix == ".md":
            if path not in names:
                names[path] = reader.Page(str(path), path.read_text()).anchors()
            if anchor not in names[path]:
                yield place, f"no heading or equation #{anchor} in {target or page.name}"


def numbers(page, root):
    """Outside regions and code, numbers stand in a dated record, a section with a date and a command in it, or in a section where a
    comment `<!-- numbers: ... -->` says where they come from: worked out in the text, or constants of the code."""
    prose = page.prose()
    for start, end, section in page.sections():
        if DATE.search(section) and "`" in section or "<!-- numbers: " in section:
            continue
        for match in NUMBER.finditer(prose, start, end):
            given = CHOSEN.fullmatch(match[0]) or IDENTIFIER.fullmatch(match[0]) or VERSION.search(page.text[: match.start()])
            if not given:
                yield match.start(), f"the number {match[0]} stands neither in a checked region nor in a dated record"


def in_summary(page, root):
    summary = root / "docs/SUMMARY.md"
    if page.name.startswith("docs/") and f"({page.name.removeprefix('docs/')})" not in summary.read_text():
        yield 0, "not in docs/SUMMARY.md"


def rust_is_tested(page, root):
    if any(block.language == "rust" for block in page.blocks):
        tests = root / "crates/book/src/lib.rs"
        if page.name not in (tests.read_text() if tests.is_file() else ""):
            yield 0, "has Rust blocks and is not in crates/book/src/lib.rs"


def fences_are_closed(page, root):
    if len(re.findall(r"^ {0,3}```", page.without_blocks, re.MULTILINE)):
        yield 0, "a code block that does not end"


def mathematics_is_read(page, root):
    from preprocess import Refused, chapter

    if page.name.startswith("docs/"):
        try:
            chapter(page.name.removeprefix("docs/"), page.text)
        except Refused as refused:
            yield 0, f"mathematics: {refused}"


def theorems_are_proved(page, root):
    """Names in a paragraph that names a file of proofs/."""
    stored = root / "proofs/theorems.json"
    proved = {theorem["name"] for theorem in json.loads(stored.read_text())} if stored.is_file() else set()
    for paragraph in re.finditer(r"(?:.+\n?)+", page.without_blocks):
        if re.search(r"`proofs/\w+\.v`", paragraph[0]):
            for span in re.finditer(r"`([a-z]\w*_\w+)`", paragraph[0]):
                if span[1] not in proved:
                    yield paragraph.start() + span.start(), f"no theorem is called {span[1]}"


RULES = [theorems_are_proved, links, numbers, in_summary, rust_is_tested, fences_are_closed, mathematics_is_read]


def problems(page, root=ROOT, rules=RULES):
    for rule in rules:
        for place, problem in rule(page, root):
            yield f"{page.name}:{page.line(place)}: {problem}"


def main(arguments):
    if "--plants" in arguments:
        import plants

        return plants.main()
    if "--site" in arguments:
        return site_pages.main(Path(arguments[arguments.index("--site") + 1]))
    named = {str((Path.cwd() / name).resolve().relative_to(ROOT)) for name in arguments if not name.startswith("-")}
    chosen = [page for page in reader.pages() if not named or page.name in named]
    if named - {page.name for page in chosen}:
        print(f"no page {', '.join(sorted(named - {page.name for page in chosen}))}")
        return 1
    failed = blocks = regions = 0
    for page in chosen:
        found, text = run.page(page)
        if "--write" in arguments and text != page.text:
            (ROOT / page.name).write_text(text)
            print(f"written {page.name}")
            page = reader.read(ROOT / page.name)
            found = [line for line in found if "the page has" not in line]
        found += problems(page)
        blocks += sum(block.language in {"console", "python", "sh", "json"} for block in page.blocks)
        regions += len(page.regions)
        failed += len(found)
        print(f"{'FAILED' if found else 'ok    '} {page.name}")
        for line in found:
            print(f"         {line}")
    print(f"{len(chosen)} pages, {blocks} code blocks run, {regions} regions compared, {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
