#!/usr/bin/env python3
"""The preprocessor of the book for mdBook: mathematics to MathML, checked regions to captions, links to files of the repository
to pages that show them. Reads (context, book) as JSON from standard input and writes the book.

Mathematics is $...$ within a line of text, and $$ on lines of its own or a block ```math for displays, as code hosts render it;
\\tag{n} numbers a display, and makes the anchor eqn.
"""

import html
import json
import posixpath
import re
import sys

from math_core import LatexError, LatexToMathML

import notebooks
from pages import DISPLAY, INLINE, LINK, REGION, ROOT, SPAN, Page

CONVERTER = LatexToMathML(macros={})
# Where the site shows files of the repository that are no pages of the book.
SHOWN = "repository"
TAG = re.compile(r"\\tag\{(\w+)\}")


class Refused(Exception):
    """Mathematics that could not be read."""


def mathml(latex, display, where):
    try:
        found = CONVERTER.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        plain = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip()
        raise Refused(f"{where}: {latex.strip()}\n{plain}") from None
    # One line, and nothing that Markdown would read between the tags.
    found = re.sub(r">([^<>]*)<", lambda m: ">" + re.sub(r"[*_`\\\[\]~|]", lambda c: f"&#{ord(c[0])};", m[1]) + "<", found)
    return " ".join(found.split())


def display(latex, where):
    tags = TAG.findall(latex)
    bare = TAG.sub("", latex)
    # Formulas side by side may go below each other on a narrow screen.
    parts = [bare] if "\\begin" in bare or "{" in "".join(re.findall(r"\{[^{}]*\\qquad", bare)) else bare.split("\\qquad")
    formula = "".join(mathml(part, True, where) for part in parts)
    number = f'<span class="number">({tags[0]})</span>' if tags else ""
    name = f' id="eq{tags[0]}"' if tags else ""
    return f'\n<div class="equation"{name}><div class="formula">{formula}</div>{number}</div>\n'


def inside(name, link):
    """A link of the chapter NAME, if it leads out of docs/: to the chapter of a notebook or to the page that shows the file."""
    if "://" in link or link.startswith(("#", "mailto:", "data:")):
        return link
    target, _, anchor = link.partition("#")
    home = posixpath.dirname(name) if name.startswith("notebooks/") else posixpath.join("docs", posixpath.dirname(name))
    path = posixpath.normpath(posixpath.join(home, target))
    up = "../" * name.count("/")
    after = f"#{anchor}" if anchor else ""
    if path.startswith("docs/") and not (ROOT / path).is_dir():
        return (f"{up}{path.removeprefix('docs/')}{after}") if name.startswith("notebooks/") else link
    if path.startswith("notebooks/") and path.endswith(".ipynb"):
        return f"{up}{path.removesuffix('.ipynb')}.html{after}"
    return f"{up}{shown(path)}"


def shown(path):
    """Where a file or folder of the repository is shown. mdBook takes every `.md` in a link for a chapter."""
    return f"{SHOWN}/{path.replace('.md', '_md')}{'/index' if (ROOT / path).is_dir() else ''}.html"


def caption(match):
    command, body = html.escape(match["command"]), match["body"]
    if "\n" in body:
        return f'{body.rstrip()}\n\n<p class="from">from <code>{command}</code></p>\n'
    return f'<span class="from" title="from: {html.escape(match["command"], quote=True)}">{body.strip()}</span>'


def outside_code(page, change):
    """The page with `change` applied to what is neither a code block nor a code span."""
    parts, at = [], 0
    spans = [(m.start(), m.end()) for m in SPAN.finditer(page.without_blocks)]
    for start, end in sorted(spans + [(b.opens, b.closes) for b in page.blocks]):
        parts += [change(page.text[at:start]), page.text[start:end]]
        at = end
    return "".join([*parts, change(page.text[at:])])


def chapter(name, text):
    """Markdown of a page for mdBook."""
    page = Page(name, text)
    parts, at = [], 0
    for block in page.blocks:
        if block.language == "math":
            parts += [text[at : block.opens], display(block.body, name)]
            at = block.closes
    page = Page(name, "".join([*parts, text[at:]]))
    # Links first: a title may hold code, and regions and mathematics add HTML that is not to be searched.
    text = page.text
    for match in reversed(list(LINK.finditer(page.without_blocks))):
        text = text[: match.start(3)] + inside(name, match[3]) + text[match.end(3) :]
    page = Page(name, text)
    text = page.text
    for match in reversed(list(REGION.finditer(page.without_blocks))):
        text = text[: match.start()] + caption(match) + text[match.end() :]

    def mathematics(part):
        part = DISPLAY.sub(lambda m: display(m[1], name), part)
        return INLINE.sub(lambda m: mathml(m[1], False, name), part)

    return outside_code(Page(name, text), mathematics)


def add_notebooks(items):
    """The executed notebooks as chapters below the page about them."""
    for item in items:
        found = item.get("Chapter") if isinstance(item, dict) else None
        if not found or found["path"] != "notebooks.md":
            continue
        for number, path in enumerate(sorted((ROOT / "notebooks").glob("*.ipynb")), 1):
            text = notebooks.markdown(path)
            name = f"notebooks/{path.stem}.md"
            parents = [*found["parent_names"], found["name"]]
            chapter = {"name": notebooks.title(text, path), "content": text, "sub_items": [], "parent_names": parents}
            chapter |= {"number": [*(found["number"] or []), number], "path": name, "source_path": None}
            found["sub_items"].append({"Chapter": chapter})


def main():
    if sys.argv[1:2] == ["supports"]:
        return 0 if sys.argv[2] == "html" else 1
    _, book = json.load(sys.stdin)
    add_notebooks(book["items"])
    stack = list(book["items"])
    try:
        while stack:
            item = stack.pop()
            if isinstance(item, dict) and "Chapter" in item:
                found = item["Chapter"]
                stack += found["sub_items"]
                if found["path"]:
                    found["content"] = chapter(found["path"], found["content"])
    except Refused as refused:
        print(f"mathematics that cannot be read in {refused}", file=sys.stderr)
        return 1
    json.dump(book, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
