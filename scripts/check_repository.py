#!/usr/bin/env python3
"""Rules that the repository keeps, each a function that yields what breaks it. Python's standard library alone.

    python3 scripts/check_repository.py            check the files that git tracks
    python3 scripts/check_repository.py --plants   break each rule in a copy, and see that it is noticed
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What each package may use of the workspace outside its tests. A package that is not named here fails.
LAYERS = {
    "contattn-core": set(),
    "contattn-cpu": {"contattn-core"},
    "contattn-check": {"contattn-core"},
    "contattn-figure": {"contattn-core"},
    "contattn-reference": {"contattn-core"},
    "contattn-book": set(),
    "contattn": {"contattn-core", "contattn-cpu", "contattn-check", "contattn-figure", "contattn-reference"},
    "contattn-notebook": {"contattn-core", "contattn-cpu", "contattn-check", "contattn-figure", "contattn-reference"},
}
# Packages that may have GMP and MPFR (LGPL) below them: the reference, and what is built on it.
WITH_GMP = {"contattn-reference", "contattn", "contattn-notebook"}
GMP = {"rug", "gmp-mpfr-sys"}
LARGE = set()  # tracked files that may exceed 1 MiB
LICENCE = "MIT OR Apache-2.0"


class Repository:
    """The files under a root, and what cargo says of the workspace."""

    def __init__(self, root, files, metadata):
        self.root, self.files, self.metadata = Path(root), sorted(files), metadata

    def texts(self, *suffixes):
        """(path, number, line) of every line of text files."""
        for name in self.files:
            path = self.root / name
            if path.suffix == ".lock" or (suffixes and path.suffix not in suffixes) or not path.is_file():
                continue
            data = path.read_bytes()
            if b"\0" in data:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                yield name, number, line

    def members(self):
        ids = set(self.metadata["workspace_members"])
        return [package for package in self.metadata["packages"] if package["id"] in ids]


def search(repository, pattern, *suffixes):
    for name, number, line in repository.texts(*suffixes):
        if re.search(pattern, line):
            yield f"{name}:{number}: {line.strip()[:120]}"


def no_paths_of_a_machine(repository):
    yield from search(repository, r"/(work|tmp|root|home|farm|Users)/")


def no_registry_hosts(repository):
    yield from search(repository, r"crates\.io(?!-index)|pypi\.org|pythonhosted\.org|npmjs\.|(deb|security)\.debian\.org")


def no_leftovers(repository):
    yield from search(repository, r"\b(todo|unimplemented|dbg)!\s*\(|FIXME|#\[ignore", ".rs")


def readme_names_the_two_commands(repository):
    readme = repository.root / "README.md"
    text = readme.read_text() if readme.is_file() else ""
    for command in ("make run", "make test"):
        if command not in text:
            yield f"README.md does not name `{command}`"


def ci_runs_the_tests(repository):
    run = repository.root / ".ci/run"
    if not run.is_file() or "make test" not in run.read_text():
        yield ".ci/run does not call `make test`"


def every_crate_has_a_front_page(repository):
    for package in repository.members():
        folder = Path(package["manifest_path"]).parent
        fronts = [folder / "README.md"]
        sources = [Path(target["src_path"]) for target in package["targets"] if {"lib", "bin"} & set(target["kind"])]
        documented = any(source.is_file() and source.read_text().startswith("//!") for source in sources)
        if not documented and not any(front.is_file() for front in fronts):
            yield f"{package['name']}: neither README.md nor documentation at the front of its source"


def layers_hold(repository):
    names = {package["name"] for package in repository.members()}
    for package in repository.members():
        name = package["name"]
        if name not in LAYERS:
            yield f"{name}: not in LAYERS of {Path(__file__).name}"
            continue
        used = {d["name"] for d in package["dependencies"] if d["kind"] != "dev" and d["name"] in names}
        for extra in sorted(used - LAYERS[name]):
            yield f"{name} uses {extra}, which is not below it"


def gmp_stays_with_the_reference(repository):
    nodes = {node["id"]: node for node in repository.metadata["resolve"]["nodes"]}
    name_of = {package["id"]: package["name"] for package in repository.metadata["packages"]}
    for package in repository.members():
        if package["name"] in WITH_GMP:
            continue
        seen, stack = set(), [package["id"]]
        while stack:
            here = stack.pop()
            if here in seen:
                continue
            seen.add(here)
            if name_of[here] in GMP:
                yield f"{package['name']} has {name_of[here]} below it"
            for dependency in nodes[here]["deps"]:
                if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                    stack.append(dependency["pkg"])


def licences_are_stated(repository):
    for package in repository.members():
        if package["license"] != LICENCE:
            yield f"{package['name']}: licence {package['license']!r}, expected {LICENCE!r}"
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        if name not in repository.files:
            yield f"{name} is not there"


def files_are_small(repository):
    for name in repository.files:
        path = repository.root / name
        if path.is_file() and path.stat().st_size > 1 << 20 and name not in LARGE:
            yield f"{name}: {path.stat().st_size} bytes"


def local_links_lead_somewhere(repository):
    for name, number, line in repository.texts(".md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
            if "://" in target or target.startswith("mailto:"):
                continue
            if not (repository.root / name).parent.joinpath(target).exists():
                yield f"{name}:{number}: no file {target}"


def scripts_are_sound(repository):
    for name in repository.files:
        path = repository.root / name
        if not path.is_file() or not path.read_bytes().startswith(b"#!/"):
            continue
        if not path.stat().st_mode & 0o100:
            yield f"{name}: starts with #!/ and is not executable"
        if b"bash" in path.read_bytes().splitlines()[0]:
            checked = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
            if checked.returncode != 0:
                yield f"{name}: {checked.stderr.strip()}"


def proofs_and_code_name_each_other(repository):
    """Every theorem of proofs/theorems.json stands in the documentation of the Rust code that it speaks of, after "Proofs:", and
    every name there, and in the table of running theorems, is a theorem. (proofs/check.sh compares the list with what Coq exports.)"""
    stored = repository.root / "proofs/theorems.json"
    if not stored.is_file():
        return
    proved = {theorem["name"] for theorem in json.loads(stored.read_text())}
    told = {}
    inside = False
    for name, number, line in repository.texts(".rs"):
        comment = re.match(r"\s*//[/!] ?(.*)", line)
        text = comment.group(1) if comment else ""
        inside = bool(comment) and (text.startswith("Proofs: ") or (inside and text != ""))
        found = re.findall(r"`(\w+)`", text) if inside else re.findall(r"proof: Some\(\"(\w+)\"\)", line)
        for theorem in found:
            if theorem not in proved:
                yield f"{name}:{number}: no theorem is called {theorem}"
            elif inside:
                told[theorem] = f"{name}:{number}"
        inside = inside and not text.endswith(".")
    for theorem in sorted(proved - told.keys()):
        yield f"proofs/theorems.json: {theorem} stands in no documentation after 'Proofs:'"


def constants_of_kernels_are_those_of_the_proofs(repository):
    """The generated constants of the CPU's kernels, and the file that the proofs read, are what proofs/polynomials.tsv gives."""
    script = repository.root / "proofs/polynomials.sh"
    if script.is_file():
        checked = subprocess.run([script, "--check"], capture_output=True, text=True)
        if checked.returncode != 0:
            yield checked.stderr.strip()


RULES = [
    no_paths_of_a_machine,
    no_registry_hosts,
    no_leftovers,
    readme_names_the_two_commands,
    ci_runs_the_tests,
    every_crate_has_a_front_page,
    layers_hold,
    gmp_stays_with_the_reference,
    licences_are_stated,
    files_are_small,
    local_links_lead_somewhere,
    scripts_are_sound,
    proofs_and_code_name_each_other,
    constants_of_kernels_are_those_of_the_proofs,
]


def this_repository():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    rustc = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.search(r"^host: (.*)$", rustc, re.MULTILINE).group(1)  # packages of other platforms need not be fetched
    command = ["cargo", "metadata", "--quiet", "--format-version", "1", "--locked", "--filter-platform", host]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return Repository(ROOT, [name for name in listed.split("\0") if name], metadata)


def package(root, name, dependencies=(), licence=LICENCE):
    folder = Path(root) / name
    return {
        "id": name,
        "name": name,
        "license": licence,
        "manifest_path": str(folder / "Cargo.toml"),
        "targets": [{"kind": ["lib"], "src_path": str(folder / "lib.rs")}],
        "dependencies": [{"name": d, "kind": None} for d in dependencies],
    }


def theorems(*names):
    return json.dumps([{"name": name} for name in names])


def plants():
    """For each rule a tree that breaks it alone: (rule, files, packages, whether scripts are executable)."""
    good = {
        "README.md": "make run, make test, [licence](LICENSE-MIT)\n",
        ".ci/run": "#!/usr/bin/env bash\nmake test\n",
        "LICENSE-MIT": "",
        "LICENSE-APACHE": "",
        "contattn-core/lib.rs": "//! Front page.\n",
        "contattn-cpu/lib.rs": "//! Front page.\n",
        "rug/lib.rs": "//! Front page.\n",
    }
    constants = {
        "proofs/polynomials.sh": (ROOT / "proofs/polynomials.sh").read_text(),
        "proofs/polynomials.tsv": "half\tone half\t0x1p-1\n",
        "proofs/Polynomials.v": "",
        "crates/cpu/src/tiled/coefficients.rs": "pub(super) const HALF: f32 = 0.25;\n",
    }
    usual = [("contattn-core", []), ("contattn-cpu", ["contattn-core"])]
    cases = [
        (None, {}, usual),
        (no_paths_of_a_machine, {"a.md": "see /" + "home/someone/x"}, usual),
        (no_registry_hosts, {"a.md": "from crates" + ".io"}, usual),
        (no_leftovers, {"a.rs": "fn f() { to" + "do!() }"}, usual),
        (no_leftovers, {"a.rs": "#[" + "ignore]"}, usual),
        (readme_names_the_two_commands, {"README.md": "make run"}, usual),
        (ci_runs_the_tests, {".ci/run": "#!/usr/bin/env bash\ntrue\n"}, usual),
        (every_crate_has_a_front_page, {"contattn-cpu/lib.rs": "fn f() {}\n"}, usual),
        (layers_hold, {}, [("contattn-core", ["contattn-cpu"]), ("contattn-cpu", [])]),
        (layers_hold, {"x/lib.rs": "//! Front page.\n"}, [*usual, ("x", [])]),
        (gmp_stays_with_the_reference, {}, [("contattn-core", ["rug"]), ("contattn-cpu", [])]),
        (licences_are_stated, {"LICENSE-MIT": None, "README.md": "make run, make test"}, usual),
        (files_are_small, {"a.bin": "x" * (1 << 20) + "x"}, usual),
        (local_links_lead_somewhere, {"a.md": "[b](b.md)"}, usual),
        (proofs_and_code_name_each_other, {"a.rs": "/// Proofs: `eq7`, `eq8`.", "proofs/theorems.json": theorems("eq7")}, usual),
        (proofs_and_code_name_each_other, {"a.rs": 'proof: Some("eq8")', "proofs/theorems.json": theorems()}, usual),
        (proofs_and_code_name_each_other, {"proofs/theorems.json": theorems("eq7")}, usual),
        (None, {"a.rs": "/// Proofs: `eq7`,\n/// `eq8`.", "proofs/theorems.json": theorems("eq7", "eq8")}, usual),
        (constants_of_kernels_are_those_of_the_proofs, constants, usual),
        (scripts_are_sound, {"a.sh": "#!/usr/bin/env bash\nif\n"}, usual),
    ]
    for rule, changes, packages in cases:
        yield rule, {name: text for name, text in {**good, **changes}.items() if text is not None}, packages


def planted(files, packages):
    """The rules that a tree of these files and packages breaks."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        below = {name: dependencies for name, dependencies in packages}
        everything = {**below, "rug": []}
        metadata = {
            "workspace_members": list(below),
            "packages": [package(root, name, below.get(name, [])) for name in everything],
            "resolve": {
                "nodes": [
                    {"id": name, "deps": [{"pkg": d, "dep_kinds": [{"kind": None}]} for d in dependencies]}
                    for name, dependencies in everything.items()
                ]
            },
        }
        repository = Repository(root, files, metadata)
        return [rule for rule in RULES if list(rule(repository))]


def main():
    failed = 0
    if "--plants" in sys.argv[1:]:
        rules = set()
        for rule, files, packages in plants():
            found = planted(files, packages)
            expected = [rule] if rule else []
            rules.update(expected)
            name = rule.__name__ if rule else "nothing planted"
            if found != expected:
                failed += 1
                print(f"FAILED {name}: found {[r.__name__ for r in found]}")
            else:
                print(f"ok     {name}: {'noticed' if rule else 'nothing noticed'}")
        for rule in set(RULES) - rules:
            failed += 1
            print(f"FAILED {rule.__name__}: no plant")
    else:
        repository = this_repository()
        for rule in RULES:
            broken = list(rule(repository))
            failed += bool(broken)
            print(f"{'FAILED' if broken else 'ok    '} {rule.__name__.replace('_', ' ')}")
            for line in broken[:20]:
                print(f"         {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
