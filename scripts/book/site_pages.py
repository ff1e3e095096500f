"""The built site: pages that show files of the repository to which the book links, and the check that every link and anchor of
the site leads somewhere and that nothing is loaded from elsewhere."""

import html
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pages import ROOT
from preprocess import SHOWN, shown

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{name}</title>
<link rel="stylesheet" href="{up}{style}"></head>
<body class="shown"><p><a href="{up}index.html">contattn</a> / {name}</p>
{body}
</body></html>
"""


class Seen(HTMLParser):
    """Links, loaded things and anchors of a page."""

    LOADS = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "audio": "src", "video": "src"}

    def __init__(self):
        super().__init__()
        self.links, self.loads, self.names, self.errors = [], [], set(), 0

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        if named.get("id"):
            self.names.add(named["id"])
        if tag == "a":
            self.names.update(filter(None, [named.get("name")]))
            self.links += filter(None, [named.get("href")])
        elif named.get(self.LOADS.get(tag)):
            self.loads.append(named[self.LOADS[tag]])
        self.errors += tag == "merror"


def seen(path):
    parser = Seen()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def show(site, path, style):
    """The page of one file or folder of the repository."""
    target = site / shown(path)
    if (ROOT / path).is_dir():
        names = sorted(p.name + "/" * p.is_dir() for p in (ROOT / path).iterdir() if not p.name.startswith("."))
        body = "<ul>" + "".join(f"<li>{html.escape(name)}</li>" for name in names) + "</ul>"
    else:
        text = (ROOT / path).read_text(encoding="utf-8")
        body = f"<pre>{html.escape(text)}</pre>"
    target.parent.mkdir(parents=True, exist_ok=True)
    up = os.path.relpath(site, target.parent) + "/"
    target.write_text(PAGE.format(name=html.escape(path), up=up, style=style, body=body))


def problems(site):
    style = next(str(p.relative_to(site)) for p in sorted(site.rglob("contattn*.css")))
    parsed = {path.resolve(): seen(path) for path in sorted(site.rglob("*.html"))}
    wanted = set()
    for path, page in parsed.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or not parts.path:
                continue
            there = (path.parent / unquote(parts.path)).resolve()
            if there.is_relative_to((site / SHOWN).resolve()):
                wanted.add(str(there.relative_to((site / SHOWN).resolve())))
    for name in sorted(wanted):
        source = name.removesuffix(".html").removesuffix("/index").replace("_md", ".md")
        if (ROOT / source).exists():
            show(site, source, style)
    for path, page in parsed.items():
        where = path.relative_to(site.resolve())
        for load in page.loads:
            if urlsplit(load).scheme not in ("", "data") or load.startswith("//"):
                yield f"{where}: loads {load}"
        if page.errors:
            yield f"{where}: mathematics with an error"
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                yield f"{where}: no page {link}"
            elif parts.fragment and target in parsed and unquote(parts.fragment) not in parsed[target].names:
                yield f"{where}: no anchor {link}"
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", sheet.read_text(encoding="utf-8")):
            if re.match(r"(https?:)?//", address[0] or address[1]):
                yield f"{sheet.relative_to(site)}: loads {address[0] or address[1]}"


def main(site):
    found = list(problems(site))
    for line in found:
        print(f"FAILED {line}")
    count = sum(1 for _ in site.rglob("*.html"))
    print(f"{count} pages of the site, {len(found)} problems")
    return 1 if found else 0
