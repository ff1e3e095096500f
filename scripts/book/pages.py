"""Pages of the book as text: code blocks, checked regions, headings, links, and prose without all of these.

A *region* is a stretch of a page that a command prints:

    <!--= contattn golden list --> ... <!--/-->

Its text is the command's output, and `check` runs the command to see that it still is. With `<!--~ command -->` numbers may be off
by a factor of 3, or all be below 1e-15: for rounding errors of libraries whose last digit depends on the processor. With `<!--@ make target -->` it is that
target that compares the page with what it finds.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^([ ]{0,3})(`{3,}|~{3,})[ ]*([^`\n]*)$")
REGION = re.compile(r"<!--(?P<kind>[=~@])\s*(?P<command>.*?)\s*-->(?P<body>.*?)<!--/-->", re.DOTALL)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# What another program of the repository writes, and compares, between such marks.
WRITTEN = re.compile(r"<!-- (\w+) -->.*?<!-- end of \1 -->|<!-- table: .*?<!-- end -->", re.DOTALL)
DISPLAY = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<![\\$\w])\$(?![\s$])((?:[^$\n\\]|\\.|\n(?!\n))+?)(?<!\s)\$(?![\w$])")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^(#{1,6})[ ]+(.*?)[ ]*#*$", re.MULTILINE)


@dataclass
class Block:
    """A fenced code block: `info` is what follows the fence, [start, end) its body within the page."""

    info: str
    body: str
    start: int
    end: int
    opens: int
    closes: int

    @property
    def language(self):
        return re.split(r"[\s,]", self.info, maxsplit=1)[0]


@dataclass
class Region:
    kind: str
    command: str
    body: str
    start: int
    end: int


def blank(text):
    """As many blanks, with the line ends kept, so that places stay what they were."""
    return re.sub(r"[^\n]", " ", text)


class Page:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.blocks = list(self._blocks())
        bare = text
        for block in self.blocks:
            bare = bare[: block.opens] + blank(bare[block.opens : block.closes]) + bare[block.closes :]
        self.without_blocks = bare
        self.regions = [Region(m["kind"], m["command"], m["body"], m.start("body"), m.end("body")) for m in REGION.finditer(bare)]
        self.without_spans = SPAN.sub(lambda m: blank(m[0]), bare)

    def _blocks(self):
        place, opened = 0, None
        for line in self.text.splitlines(keepends=True):
            fence = FENCE.match(line.rstrip("\n"))
            if opened is None and fence:
                opened = (fence[2], fence[3].strip(), place, place + len(line))
            elif opened and fence and not fence[3].strip() and fence[2].startswith(opened[0]):
                yield Block(opened[1], self.text[opened[3] : place], opened[3], place, opened[2], place + len(line.rstrip("\n")))
                opened = None
            place += len(line)

    def line(self, place):
        return self.text.count("\n", 0, place) + 1

    def prose(self):
        """What is read as plain words: no code, no mathematics, no checked region, no target of a link."""
        text = REGION.sub(lambda m: blank(m[0]), self.without_blocks)
        for pattern in (WRITTEN, SPAN, COMMENT, DISPLAY, INLINE):
            text = pattern.sub(lambda m: blank(m[0]), text)
        return re.sub(r"\]\([^)]*\)", lambda m: blank(m[0]), text)

    def links(self):
        for match in LINK.finditer(self.without_spans):
            yield match.start(), match[3]
        for match in re.finditer(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]+)\"", self.without_spans):
            yield match.start(), match[1]

    def anchors(self):
        """Names that `#name` may refer to: of headings, as code hosts and mdBook make them, and of numbered equations."""
        found = set()
        for heading in HEADING.finditer(self.without_blocks):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[2])
            slug = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words.lower()).strip())
            count = 0
            while (name := slug + (f"-{count}" if count else "")) in found:
                count += 1
            found.add(name)
        found.update(f"eq{number}" for number in re.findall(r"\\tag\{(\w+)\}", self.text))
        return found

    def sections(self):
        """(start, end, text) of what stands between two headings; the text has that of the sections above it before its own."""
        headings = [(0, 0), *((len(m[1]), m.start()) for m in HEADING.finditer(self.without_blocks)), (0, len(self.text))]
        above = []
        for (level, start), (_, end) in zip(headings, headings[1:]):
            above = [(depth, text) for depth, text in above if depth < level] + [(level, self.text[start:end])]
            # A title above the whole page dates nothing below it.
            yield start, end, "".join(text for depth, text in above if depth > 1 or depth == level)


def read(path, root=ROOT):
    return Page(str(path.relative_to(root)), path.read_text(encoding="utf-8"))


def pages(root=ROOT):
    """The pages of the book and the README, in the order of their names."""
    found = [path for path in sorted((root / "docs").rglob("*.md")) if path.name != "SUMMARY.md"]
    return [read(path, root) for path in [*found, root / "README.md"] if path.is_file()]
