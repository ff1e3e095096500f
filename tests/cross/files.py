"""Files between NumPy and the command: byte orders, axis orders, types, containers, and what may not be seen."""

from dataclasses import replace

import numpy as np
from safetensors.numpy import load_file

import command as driver
from definition import Window
from problems import DTYPES, stored
from routes import gaussian


def rounded(x, bits, lowest):
    """x rounded once to so many significant bits, ties to even, the smallest exponent of a normal number being `lowest`."""
    with np.errstate(divide="ignore"):
        exponent = np.maximum(np.frexp(x)[1] - 1, lowest)
    step = np.ldexp(1.0, exponent - bits + 1)
    return np.where(np.isfinite(x), np.rint(x / step) * step, x)


# (significant bits, smallest exponent) of the types that results are rounded to
FORMATS = {"f64": (53, -1022), "f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}


def check(binary, Tally):
    rng = np.random.default_rng(7)
    tally = Tally("Files and visibility: largest difference, which must be 0")
    plain = driver.Shapes("bhsd", 4)

    def same(group, found, expected):
        result = {}
        for name, x in expected.items():
            if found[name].shape != x.shape:
                raise AssertionError(f"{name} has shape {found[name].shape}, expected {x.shape}")
            equal = (found[name] == x) | (np.isnan(found[name]) & np.isnan(x))
            with np.errstate(invalid="ignore"):
                difference = np.abs(found[name] - x)[~equal]
            worst = np.max(np.where(np.isnan(difference), np.inf, difference), initial=0.0)
            result[name] = (worst, 0.0 if np.all(equal) else np.inf)
        tally.add([group], result, group)

    def attempt(group, action):
        try:
            action()
        except (driver.Refused, AssertionError, OSError, ValueError, KeyError) as error:
            tally.fail(f"{group}: {error}")

    def ask(problem, container="npz", shapes=plain, rule="linear", *more):
        return driver.attend(binary, "files", problem, rule, shapes, container, *more)

    # The same numbers in every container, order of bytes and order of axes.
    for dtype in DTYPES:
        problem = gaussian(rng, "given", dtype=dtype)
        for name in ("q", "k", "v", "sink_key", "sink_value"):
            setattr(problem, name, stored(getattr(problem, name), dtype))
        expected = ask(problem, "safetensors")
        for container in driver.CONTAINERS:
            if dtype == "bf16" and container != "safetensors":
                continue
            for layout in ("bhsd", "bshd"):
                group = f"{dtype} in {container}"
                attempt(group, lambda: same(group, ask(problem, container, driver.Shapes(layout, 4)), expected))

    # Results in every type are one rounding of the same f64.
    problem = gaussian(rng, "zeros")
    exact = ask(problem)

    def types(dtype):
        path = binary.path("typed.safetensors")
        files = {"out": f"{path}:o", "lse": f"{path}:lse", "weights": f"{path}:weights", "bias": f"{path}:bias"}
        options = driver.options(binary, "files", problem, "linear", plain, "npz")
        binary.run("attend", *options, f"--dtype={dtype}", *(f"--{flag}={file}" for flag, file in files.items()))
        found = load_file(path)
        of_rows = dtype if dtype in ("f64", "f32") else "f32"
        for name, kind in {"o": dtype, "lse": of_rows, "weights": dtype, "bias": dtype}.items():
            assert found[name].dtype == DTYPES[kind], f"{name} has type {found[name].dtype}, expected {kind}"
        expected = {x: rounded(y, *FORMATS[of_rows if x == "lse" else dtype]) for x, y in exact.items()}
        same(f"results in {dtype}", {x: found[x].astype(np.float64) for x in expected}, expected)

    for dtype in DTYPES:
        attempt(f"results in {dtype}", lambda: types(dtype))

    # Series in other types than f64, compressed archives, axes left out.
    problem = gaussian(rng, "copy", durations=rng.integers(0, 5, size=9) / 4, mask=rng.random(9) < 0.8,
                       documents=np.array([5, 5, 5, 5, 2, 2, 2, 8, 8]))
    expected = ask(problem)
    kinds = [("durations", np.float32), ("durations", np.float16), ("mask", np.uint8), ("mask", np.int64),
             ("documents", np.int32), ("documents", np.uint8), ("documents", np.int16)]
    for name, kind in kinds:
        group = f"{name} as {np.dtype(kind).name}"
        changed = replace(problem, **{name: getattr(problem, name).astype(kind)})
        attempt(group, lambda: same(group, ask(changed), expected))

    def compressed():
        tensors = {"q": problem.q, "k": problem.k, "v": problem.v}
        path = binary.path("compressed.npz")
        np.savez_compressed(path, **tensors)
        options = driver.options(binary, "files", problem, "linear", plain, "npz")
        options = [f"--{x[2]}={path}:{x[2]}" if x[:4] in ("--q=", "--k=", "--v=") else x for x in options]
        out = binary.path("compressed-out.npy")
        binary.run("attend", *options, f"--out={out}")
        same("compressed archive", {"o": np.load(out)}, {"o": expected["o"]})

    attempt("compressed archive", compressed)

    one = gaussian(rng, "zeros", batch=1, heads=1, kv_heads=1)
    expected = ask(one)
    for rank in (2, 3):
        for layout in ("bhsd", "bshd"):
            group = f"{rank} axes, {layout}"
            attempt(group, lambda: same(group, ask(one, "npy fortran", driver.Shapes(layout, rank)), expected))

    def native():
        """Results are C-ordered and of this machine's byte order, as NumPy makes them."""
        out = binary.path("native.npy")
        binary.run("attend", *driver.options(binary, "files", one, "linear", plain, "npz"), f"--out={out}")
        array = np.load(out)
        assert array.flags.c_contiguous and array.dtype == np.dtype("<f8"), f"{array.dtype}, {array.flags}"
        # Memory mapping needs the header to end on a multiple of 64 bytes.
        assert np.array_equal(np.load(out, mmap_mode="r"), array)
        same("results load and map", {"o": array}, {"o": expected["o"]})

    attempt("results load and map", native)

    # What is not visible reaches nothing, to the bit; what is visible makes NaN, and there alone.
    problem = gaussian(rng, "zeros", mask=np.arange(9) != 5, window=Window("start", "end"))
    for rule in ("linear", "step", "trapezoid", "taylor:2"):
        for poison in (np.nan, np.inf, -np.inf):
            group = f"hidden {poison}, {rule}"
            poisoned = replace(problem, k=problem.k.copy(), v=problem.v.copy())
            poisoned.k[:, :, 5] = poisoned.v[:, :, 5] = poison
            attempt(group, lambda: same(group, ask(poisoned, rule=rule), ask(problem, rule=rule)))
    causal = gaussian(rng, "zeros", n_q=9)
    clean = ask(causal)
    for poison in (np.nan, np.inf):
        k = replace(causal, k=causal.k.copy())
        k.k[:, :, 6] = poison  # node 7
        expected = {name: x.copy() for name, x in clean.items()}
        for name, x in expected.items():
            x[:, :, 6:] = np.nan
        attempt("visible key", lambda: same("visible key", ask(k), expected))
        v = replace(causal, v=causal.v.copy())
        v.v[:, :, 6, 2] = poison
        expected = {name: x.copy() for name, x in clean.items()}
        expected["o"][:, :, 6:, 2] = np.nan
        attempt("visible value", lambda: same("visible value", ask(v), expected))
    return [tally]
