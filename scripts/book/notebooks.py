"""Executed notebooks as chapters: cells as they stand, results as they were stored."""

import html
import json
import re


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def fenced(text, language):
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def shown(output):
    """One result in Markdown: the richest form that needs no script."""
    if output["output_type"] == "stream":
        return fenced(joined(output["text"]), "text")
    if output["output_type"] == "error":
        return fenced("\n".join(output.get("traceback", [])), "text")
    data = output["data"]
    if "image/png" in data:
        words = html.escape(joined(data.get("text/plain", "figure")).strip() or "figure", quote=True)
        return f'<img src="data:image/png;base64,{"".join(joined(data["image/png"]).split())}" alt="{words}">'
    if "text/html" in data:
        # One paragraph: Markdown ends an HTML block at an empty line.
        return '<div class="result">' + re.sub(r"\n\s*", " ", joined(data["text/html"]).strip()) + "</div>"
    if "text/markdown" in data:
        return joined(data["text/markdown"])
    return fenced(joined(data.get("text/plain", "")), "text")


def markdown(path):
    """The notebook's text, with its title as the first heading."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    language = notebook.get("metadata", {}).get("language_info", {}).get("name", "rust").lower()
    parts = []
    for cell in notebook["cells"]:
        source = joined(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(fenced(source, language))
            parts += [shown(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def title(text, path):
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    return heading[1].strip() if heading else path.stem
