"""A small book without mistakes, and mistakes planted in it one by one: each has to be noticed, by the check named for it."""

import tempfile
from pathlib import Path

import check
import pages as reader
import run
import site_pages

GOOD = {
    "README.md": "# A book\n\n[The page](docs/page.md#words-and-numbers), [(1)](docs/page.md#eq1).\n\n```sh\nmake run\n```\n",
    "Makefile": "run:\n\ttrue\n",
    "crates/book/src/lib.rs": "docs/page.md",
    "proofs/theorems.json": '[{"name": "eq_two"}]',
    "docs/SUMMARY.md": "- [Page](page.md)\n",
    "docs/page.md": """# Page

## Words and numbers

Some $\\varphi_2(x)$ (`eq_two` in `proofs/A.v`) and <!--= echo 0.25 -->0.25<!--/-->, about <!--~ echo 4e-9 -->3e-9<!--/-->, at most <!--@ make run -->1234<!--/-->, see [the readme](../README.md).

$$
\\varphi_2(x) = \\frac{e^x - 1 - x}{x^2} \\tag{1}
$$

```console
$ printf '1.5\\n2.5\\n'
1.5
2.5
```

```python
# half.py
print(0.5)
assert 1 + 1 == 2
```

```console
$ python3 half.py
0.5
```

```rust
assert_eq!(1 + 1, 2);
```

## How long it takes

On 30 November 2026 `make run` took 12.5 seconds.
""",
}
SITE = {
    "index.html": '<a href="page.html#one">one</a><img src="a.png"><a href="#here"></a><p id="here">',
    "page.html": '<h1 id="one">one</h1>',
    "a.png": "",
    "contattn.css": "@font-face { src: url('x.woff2') }",
}
PAGE = "docs/page.md"
# What is done to the book: file, what stands there, what stands there then, and what the complaint has to say.
BOOK = [
    ("a digit of a command's output", PAGE, "1.5\n2.5", "1.5\n2.6", "line 2 is '2.5', the page has '2.6'"),
    ("a line of output that is missing", PAGE, "1.5\n2.5\n", "1.5\n", "line 2"),
    ("a command that fails", PAGE, "$ printf '1.5", "$ false | printf '1.5", "exit code 1"),
    ("a command that is not there", PAGE, "$ printf", "$ no-such-command", "exit code 127"),
    ("a digit of a region", PAGE, "-->0.25<", "-->0.26<", "the page has '0.26'"),
    ("a size that is far off", PAGE, "-->3e-9<", "-->1e-9<", "the page has '1e-9'"),
    ("a number that no target compares", PAGE, "@ make run", "@ make walk", "not a target that compares"),
    ("an assertion that fails", PAGE, "1 + 1 == 2\n", "1 + 1 == 3\n", "AssertionError"),
    ("a number from nowhere", PAGE, "Some ", "Some 0.125 and ", "the number 0.125 stands"),
    ("a percentage from nowhere", PAGE, "Some ", "Some 12 % and ", "the number 12 % stands"),
    ("a record without a date", PAGE, "On 30 November 2026", "Then", "the number 12.5 stands"),
    ("a link to no file", PAGE, "../README.md", "../READYOU.md", "no file ../READYOU.md"),
    ("a link to no heading", "README.md", "#words-and-numbers", "#words", "no heading or equation #words"),
    ("a link to no equation", "README.md", "#eq1", "#eq2", "no heading or equation #eq2"),
    ("mathematics that cannot be read", PAGE, "\\frac{e^x", "\\fracc{e^x", "mathematics"),
    ("mathematics in a line that cannot be read", PAGE, "$\\varphi_2(x)$", "$\\varphi_{2(x)$", "mathematics"),
    ("a page that no chapter is", "docs/SUMMARY.md", "page.md", "other.md", "not in docs/SUMMARY.md"),
    ("a theorem that is not proved", PAGE, "`eq_two`", "`eq_three`", "no theorem is called eq_three"),
    ("Rust that nothing tests", "crates/book/src/lib.rs", "docs/page.md", "", "has Rust blocks"),
    ("a target that make does not have", "README.md", "make run", "make walk", "no target walk"),
    ("a block of no language", PAGE, "```rust", "```", "of which nothing is checked"),
    ("a block that does not end", PAGE, "1, 2);\n```", "1, 2);", "does not end"),
]
BUILT = [
    ("a link to no page", "index.html", "page.html#one", "pages.html", "no page pages.html"),
    ("a link to no anchor", "index.html", "page.html#one", "page.html#two", "no anchor page.html#two"),
    ("a link to no anchor of the page", "index.html", '"#here"', '"#there"', "no anchor #there"),
    ("a picture that is not there", "index.html", "a.png", "b.png", "no page b.png"),
    ("a picture from elsewhere", "index.html", '"a.png"', '"https://example.org/a.png"', "loads https://example.org"),
    ("a script from elsewhere", "index.html", "<p", '<script src="//example.org/a.js"></script><p', "loads //example.org"),
    ("a font from elsewhere", "contattn.css", "x.woff2", "https://example.org/x.woff2", "loads https://example.org"),
    ("mathematics with an error", "page.html", "<h1", "<merror></merror><h1", "mathematics with an error"),
]


def written(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def of_book(files):
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), files)
        found = []
        for page in reader.pages(Path(folder)):
            ran, text = run.page(page, Path(folder))
            found += ran + list(check.problems(page, Path(folder)))
            found += ["a page without mistakes would be rewritten"] if not ran and text != page.text else []
        return found


def of_site(files):
    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), files)
        (Path(folder) / "x.woff2").write_text("")
        return list(site_pages.problems(Path(folder)))


def main():
    failed = 0
    for all_files, plants, judge in ((GOOD, BOOK, of_book), (SITE, BUILT, of_site)):
        clean = judge(all_files)
        failed += len(clean)
        print(f"{'FAILED' if clean else 'ok    '} nothing planted: {clean or 'nothing noticed'}")
        for name, file, there, then, says in plants:
            assert there in all_files[file], f"{name}: {there!r} is not in {file}"
            found = judge({**all_files, file: all_files[file].replace(there, then, 1)})
            noticed = any(says in line for line in found)
            failed += not noticed
            print(f"{'ok    ' if noticed else 'FAILED'} {name}: {'noticed' if noticed else found or 'not noticed'}")
    return 1 if failed else 0
