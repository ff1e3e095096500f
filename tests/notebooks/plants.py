"""Plants: notebooks and outputs that are wrong on purpose, each of which the runner has to notice, and changes that it must not.

`faulty.ipynb` has a cell for every way in which a cell can fail. Each is marked in its metadata, `"plant": "noticed"`; the cells
between them are sound and must not be. `sound.ipynb` has stored outputs of every kind; they are spoilt in memory, one at a time.
"""

import base64
import copy
from pathlib import Path

import nbformat

from execute import execute, faults
from outputs import MEASURED, stale

HERE = Path(__file__).resolve().parent


def main():
    wrong = [*faulty_cells(), *spoilt_outputs()]
    for text in wrong:
        print(f"FAILED {text}")
    return 1 if wrong else 0


def faulty_cells():
    from run import FOLDER, use_locked_versions

    use_locked_versions()
    notebook = nbformat.read(HERE / "faulty.ipynb", as_version=4)
    fresh, found = execute(notebook, FOLDER)
    noticed = {number for number, _ in found}
    texts = dict(found)
    if None in noticed:
        yield f"faulty.ipynb: {texts[None]}"
    for number, cell in enumerate(fresh.cells):
        if cell.cell_type != "code":
            continue
        planted = cell.metadata.get("plant") == "noticed"
        what = cell.source.splitlines()[0]
        if planted != (number in noticed):
            yield f"cell {number} ({what}) {'was not noticed' if planted else 'was noticed: ' + texts[number]}"
        else:
            print(f"ok     {what} {'noticed: ' + texts[number].splitlines()[0][:70] if planted else 'nothing to notice'}")
    # A cell that the kernel never came to, as after its death.
    fresh.cells[next(n for n, c in enumerate(fresh.cells) if c.cell_type == "code")].execution_count = None
    if not any(text == "was not run" for _, text in faults(fresh)):
        yield "a cell that was not run was not noticed"
    else:
        print("ok     a cell that was not run: noticed")


def spoilt_outputs():
    from run import FOLDER, use_locked_versions

    use_locked_versions()
    stored = nbformat.read(HERE / "sound.ipynb", as_version=4)
    fresh, found = execute(stored, FOLDER)
    for number, text in found:
        yield f"sound.ipynb, cell {number}: {text}"
    for number, lines in stale(stored, fresh):
        yield f"sound.ipynb, cell {number}: stale as it is: {lines}"
    for what, spoil, expected in SPOILT:
        spoilt = copy.deepcopy(stored)
        if not spoil(spoilt):
            yield f"{what}: sound.ipynb has no place for it"
        elif bool(stale(spoilt, fresh)) != expected:
            yield f"{what}: {'not noticed' if expected else 'noticed'}"
        else:
            print(f"ok     {what}: {'noticed' if expected else 'nothing noticed'}")


def shown(notebook, mime):
    """(outputs of the cell, output) of each result that has this form."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if mime in output.get("data", {}):
                yield cell.outputs, output


def text_of(output, mime):
    text = output.data[mime]
    return text if isinstance(text, str) else "".join(text)


def change_text(mime, old, new):
    def spoil(notebook):
        for _, output in shown(notebook, mime):
            text = text_of(output, mime)
            if old in text:
                output.data[mime] = text.replace(old, new, 1)
                return True
        return False

    return spoil


def change_stream(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                output.text = output.text.replace("4", "5", 1)
                return True
    return False


def change_measured(mime):
    def spoil(notebook):
        for _, output in shown(notebook, mime):
            text = text_of(output, mime)
            if MEASURED.search(text):
                output.data[mime] = MEASURED.sub("‹ 99.9 ms›", text)
                return True
        return False

    return spoil


def change_picture(is_measured, change):
    def spoil(notebook):
        for _, output in shown(notebook, "image/png"):
            if ("‹figure›" in text_of(output, "text/plain")) == is_measured:
                data = bytearray(base64.b64decode(output.data["image/png"]))
                change(data)
                output.data["image/png"] = base64.b64encode(bytes(data)).decode()
                return True
        return False

    return spoil


def last_byte_of_pixels(data):
    data[-20] ^= 1


def width(data):
    data[19] ^= 1


def drop_output(notebook):
    for outputs, output in shown(notebook, "text/html"):
        outputs.remove(output)
        return True
    return False


def drop_form(notebook):
    for _, output in shown(notebook, "text/html"):
        del output.data["text/html"]
        return True
    return False


def add_output(notebook):
    for outputs, output in shown(notebook, "text/html"):
        outputs.append(copy.deepcopy(output))
        return True
    return False


# what, how, whether it has to be noticed
SPOILT = [
    ("a digit of a table's HTML", change_text("text/html", "0.612252", "0.524944"), True),
    ("a digit of a table's plain text", change_text("text/plain", "0.612252", "0.524944"), True),
    ("a printed digit", change_stream, True),
    ("a bit of a picture", change_picture(False, last_byte_of_pixels), True),
    ("the size of a measured picture", change_picture(True, width), True),
    ("a result that is not stored", drop_output, True),
    ("a form of a result that is not stored", drop_form, True),
    ("a result too many", add_output, True),
    ("a word beside a measured time", change_text("text/plain", "sleeping", "leaping"), True),
    ("another measured time in HTML", change_measured("text/html"), False),
    ("another measured time in plain text", change_measured("text/plain"), False),
    ("a bit of a measured picture", change_picture(True, last_byte_of_pixels), False),
]
