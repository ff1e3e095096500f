"""Writes the fixtures in this folder with NumPy and the Python package safetensors, which share no code with ours.

    python -m venv VENV && VENV/bin/pip install numpy safetensors ml_dtypes && VENV/bin/python tests/files/write.py

Every array holds what crates/core/tests/files.rs expects in it; each file is below 4 KB.
"""

import os

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name)


def counting(shape, dtype):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


# Bit patterns: -0, smallest subnormal, infinities, a quiet NaN with a payload.
special = {
    "f8": np.array([1 << 63, 1, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8_0000_0000_1234], "<u8").view("<f8"),
    "f4": np.array([1 << 31, 1, 0x7F80_0000, 0xFF80_0000, 0x7FC0_1234], "<u4").view("<f4"),
    "f2": np.array([1 << 15, 1, 0x7C00, 0xFC00, 0x7E12], "<u2").view("<f2"),
}

np.save(path("f8_c.npy"), counting((2, 3, 4), "<f8"))
np.save(path("f8_fortran.npy"), np.asfortranarray(counting((2, 3, 4), "<f8")))
np.save(path("f4_big.npy"), counting((2, 3, 4), ">f4"))
np.save(path("f4_big_fortran.npy"), np.asfortranarray(counting((2, 3, 4), ">f4")))
np.save(path("f2_special.npy"), special["f2"])
np.save(path("f4_special.npy"), special["f4"])
np.save(path("f8_special.npy"), special["f8"])
np.save(path("scalar.npy"), np.float64(-0.0))
np.save(path("empty.npy"), np.zeros((3, 0, 2), "<f4"))
np.save(path("rank6.npy"), counting((2, 1, 3, 1, 2, 2), "<i2"))
np.save(path("bool.npy"), np.array([[True, False], [False, True]]))
for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
    info = np.iinfo(code)
    np.save(path(f"{code}.npy"), np.array([info.min, 0, 1, info.max], code))
np.save(path("i4_big.npy"), np.array([-2, 258], ">i4"))
for version in ((1, 0), (2, 0), (3, 0)):
    with open(path(f"version{version[0]}.npy"), "wb") as f:
        np.lib.format.write_array(f, counting((5,), "<f4"), version=version)
np.save(path("structured.npy"), np.zeros(2, [("a", "<f4"), ("b", "<i4", (2,))]))
np.save(path("object.npy"), np.array([None, "x"], dtype=object), allow_pickle=True)
np.save(path("complex.npy"), np.zeros(2, "<c16"))
np.save(path("text.npy"), np.array(["ab", "c"]))
np.save(path("bf16.npy"), np.array([1, 2], ml_dtypes.bfloat16))

arrays = {"q": counting((2, 3), "<f4"), "group/k": counting((3,), "<f2"), "mask": np.array([True, False])}
np.savez(path("stored.npz"), **arrays)
np.savez_compressed(path("deflated.npz"), **{**arrays, "zeros": np.zeros((40, 40), "<f4")})
np.savez(path("single.npz"), counting((4,), "<f8"))

tensors = {
    "f64": special["f8"],
    "f32": special["f4"],
    "f16": special["f2"],
    "bf16": counting((2, 2), ml_dtypes.bfloat16),
    "bool": np.array([True, False]),
    "scalar": np.array(7, "<i4"),
    "empty": np.zeros((0, 3), "<f4"),
    "rank6": counting((1, 2, 1, 2, 1, 2), "<u2"),
}
for code, name in (("i1", "i8"), ("u1", "u8"), ("i2", "i16"), ("u4", "u32"), ("i8", "i64"), ("u8", "u64")):
    info = np.iinfo(code)
    tensors[name] = np.array([info.min, 0, 1, info.max], code)
save_file(tensors, path("types.safetensors"), metadata={"note": "written by Python"})
save_file({"x": counting((2, 2), "<f4")}, path("single.safetensors"))
