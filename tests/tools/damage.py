"""Damage the files of saved models in three ways, and check that they load correctly or raise `FileFormatError`.

The damage is to bytes, to parts of archives with correct checksums, or to the meaning of correct archives.
`python tests/tools/damage.py 20000` tries 20000 files with a new seed; any other exception is raised with a note of the
file.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import qpsvm
from qpsvm import CSVM, RBF, Model, Polynomial, Sigmoid

N, D = 16, 3
RNG = np.random.default_rng(11)
Y = np.repeat([-1, 1], N // 2)
X = RNG.normal(size=(N, D)) + 0.5 * Y[:, None]


class Frame:
    """A minimal data frame: values (n, d) and column names."""

    def __init__(self, values: Any, columns: Any) -> None:
        self.values = np.asarray(values)
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy
        return self.values if dtype is None else self.values.astype(dtype)


def build_models() -> dict[str, Model]:
    """Fit one model of each kind of file."""
    gram = X @ X.T + 1
    sparse = sp.random_array((N, 40), density=0.2, random_state=3, format="csr") + sp.csr_array(
        (np.ones(N), (np.arange(N), np.arange(N))), shape=(N, 40)
    )
    text = np.where(Y > 0, "yes", "no")
    return {
        "linear": qpsvm.solve(CSVM(X, Y)).model,
        "named": qpsvm.solve(CSVM(Frame(X, ["a", "b", "c"]), text)).model,
        "rbf": qpsvm.solve(CSVM(X, text, kernel="rbf")).model,
        "polynomial": qpsvm.solve(CSVM(X, Y > 0, kernel=Polynomial(2, 0.5, 1))).model,
        "sigmoid": qpsvm.solve(CSVM(X, Y.astype(float), kernel=Sigmoid(0.1), psd="clip")).model,
        "sparse": qpsvm.solve(CSVM(sparse, Y, kernel=RBF(0.5))).model,
        "landmarks": qpsvm.solve(CSVM(sparse, text, kernel=qpsvm.Nystroem(RBF(0.5), components=5))).model,
        "pivots": qpsvm.solve(CSVM(X, Y, kernel=qpsvm.PivotedCholesky("rbf", rank=4))).model,
        "frequencies": qpsvm.solve(CSVM(X, Y, kernel=qpsvm.RandomFourier(components=4))).model,
        "precomputed": qpsvm.solve(CSVM(gram, np.where(Y > 0, b"p", b"n"), kernel="precomputed")).model,
        "dates": replace(
            qpsvm.solve(CSVM(X, Y)).model, classes=np.array(["2020", "2021"], "M8[Y]"), metadata={"a": [1, {"b": None}]}
        ),
    }


def save_to_bytes(model: Model, path: Path) -> bytes:
    """Save a model; return the bytes of its file."""
    model.save(path)
    return path.read_bytes()


def make_samples(model: Model) -> Any:
    """Return two samples to predict."""
    d = model.n_features
    if d == D:
        return X[:2]
    return np.linspace(0, 1, 2 * d).reshape(2, d)


ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3.0, 1e300, -1e300, float("nan"), float("inf"), 10**18, 10**400, "", "scale", [], {},
    [1, "a"], {"gamma": 1}, {"degree": 1e300, "gamma": 1.0}, {"degree": 2.5, "gamma": 1e-320, "coef0": -5},
    "linear", "precomputed", ["a", "b", "c"],
)  # fmt: skip
KINDS = ("f8", ">f8", "f4", "f2", "g", "i8", "i4", "u1", "u8", "?", "U3", "S2", "c16", "M8[D]", "m8[s]", "O", "V8")
SHAPES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (2,), (3,), (0, 3), (5, 3), (2, 2, 2), (17,), (1000,))


def spoil_array(rng: np.random.Generator, array: Any) -> Any:
    """Return an array of another type, shape or content."""
    match rng.integers(6):
        case 0:
            kind = KINDS[rng.integers(len(KINDS))]
            try:
                return array.astype(kind)
            except (TypeError, ValueError, RuntimeError):
                return np.zeros(array.shape, kind)
        case 1:
            return np.zeros(SHAPES[rng.integers(len(SHAPES))], KINDS[rng.integers(len(KINDS))])
        case 2:
            return np.asfortranarray(array[::-1] if array.ndim else array)
        case 3:
            if array.ndim:
                return array[: rng.integers(0, max(len(array), 1))]
            return np.array([array, array])
        case 4:
            return array[None]
        case _:
            flat = array.copy().reshape(-1)
            values = [np.nan, np.inf, -1, 0, 1e9, 1e200, 2**62, -(2**31), 5]
            if flat.dtype.kind in "iuf" and flat.size:
                with np.errstate(all="ignore"):
                    flat[rng.integers(flat.size)] = np.array(values[rng.integers(len(values))]).astype(flat.dtype)
            return flat.reshape(array.shape)


def change_bytes(rng: np.random.Generator, raw: bytes, start: int = 0, end: int | None = None) -> bytes:
    """Change a few bytes between start and end."""
    content = bytearray(raw)
    for _ in range(int(rng.choice([1, 1, 1, 3, 20]))):
        content[rng.integers(start, end or len(content))] = rng.choice([0, 1, 255, rng.integers(256)])
    return bytes(content)


def damage_bytes(rng: np.random.Generator, files: list[bytes]) -> bytes:
    """Damage the bytes of a file: change, drop, insert or rotate them, or splice in another file."""
    raw = files[rng.integers(len(files))]
    other = files[rng.integers(len(files))]
    cut = int(rng.integers(len(raw)))
    match rng.integers(7):
        case 0 | 1:
            return change_bytes(rng, raw)
        case 2:
            return raw[:cut]
        case 3:
            return raw[:cut] + other[int(rng.integers(len(other))) :]
        case 4:
            return raw[:cut] + bytes(int(rng.integers(1, 64))) + raw[cut:]
        case 5:
            return raw[cut:] + raw[:cut]
        case _:
            return change_bytes(rng, raw, raw.rindex(b"PK\1\2") if rng.random() < 0.3 else raw.index(b"PK\1\2"))


def damage_parts(rng: np.random.Generator, files: list[bytes]) -> bytes:
    """Damage the parts of an archive, with correct checksums: change bytes, drop, rename or exchange parts."""
    with zipfile.ZipFile(io.BytesIO(files[rng.integers(len(files))])) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(io.BytesIO(files[rng.integers(len(files))])) as archive:
        others = {name: archive.read(name) for name in archive.namelist()}
    names = sorted(parts)
    name = names[rng.integers(len(names))]
    match rng.integers(5):
        case 0:
            parts[name] = change_bytes(rng, parts[name])
        case 1:
            parts[name] = change_bytes(rng, parts[name], 0, 128)
        case 2:
            del parts[name]
        case 3:
            parts[name] = others.get(name, b"")
        case _:
            parts[names[rng.integers(len(names))]] = parts.pop(name)
    stream = io.BytesIO()
    method = [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2][rng.choice(3, p=[0.5, 0.4, 0.1])]
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def damage_meaning(rng: np.random.Generator, files: list[bytes]) -> bytes:
    """Write a correct archive with a wrong array or a wrong entry of the header."""
    with np.load(io.BytesIO(files[rng.integers(len(files))])) as archive:
        arrays = dict(archive)
    if rng.random() < 0.5:
        header = json.loads(str(arrays["header"]))
        if header["parameters"] and rng.random() < 0.5:
            inner = header["parameters"]
        else:
            inner = header
        inner[sorted(inner)[rng.integers(len(inner))]] = ODD[rng.integers(len(ODD))]
        arrays["header"] = np.array(json.dumps(header))
    else:
        name = sorted(arrays)[rng.integers(len(arrays))]
        arrays[name] = spoil_array(rng, arrays[name])
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def check_loading(path: Path) -> bool:
    """Say whether the file loads; if it does, check that it predicts and survives another save and load."""
    message = None
    try:
        model = qpsvm.load(path)
    except qpsvm.FileFormatError as error:
        message = str(error)
    if message is not None:
        assert "pickle" not in message
        assert "\n" not in message
        return False
    repr(model.classes.tolist())
    if model.n_features <= 1000:
        try:
            with np.errstate(all="ignore"):
                assert np.isin(model.predict(make_samples(model)), model.classes).all()
        except qpsvm.QPSVMError:
            pass
    model.save(path)
    again = qpsvm.load(path)
    assert (again.b, again.kernel, again.metadata) == (model.b, model.kernel, model.metadata)
    return True


def fuzz(path: Path, count: int, seed: int) -> int:
    """Try `count` damaged files; return how many of them load."""
    files = [save_to_bytes(model, path) for model in build_models().values()]
    good = 0
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        damage = (damage_bytes, damage_parts, damage_meaning)[k % 3]
        raw = damage(rng, files)
        path.write_bytes(raw)
        try:
            good += check_loading(path)
        except BaseException as error:
            error.add_note(f"seed {seed}, file {k}, {damage.__name__}")
            raise
    return good


if __name__ == "__main__":
    start, count, seed = time.perf_counter(), int(sys.argv[1]), int(time.time())
    with tempfile.TemporaryDirectory() as folder:
        loaded = fuzz(Path(folder) / "model.npz", count, seed)
    seconds = time.perf_counter() - start
    print(f"{count} damaged files, seed {seed}: {loaded} load and predict, no foreign error; {seconds:.0f} s")
