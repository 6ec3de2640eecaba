"""Files of models: what is written is read, nothing that was there is lost, and nothing that is damaged gets in."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import zipfile
from collections import UserDict, deque
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from damage import N, X, Y, build_models, fuzz, make_samples, save_to_bytes

import qpsvm
from qpsvm import CSVM, RBF, Linear, Model
from qpsvm.base.atomic_files import UNFINISHED, open_replacement, write_text
from qpsvm.result.saving.archive import MAX_RATIO, SMALL_BYTES, SMALL_TEXT_BYTES

MODELS = build_models()
#: Damaged files in the suite; `python tests/tools/damage.py 20000` tries more.
FUZZED = 500


def check_same_model(one: Model, other: Model) -> None:
    assert (one.kernel, one.b, one.n_features) == (other.kernel, other.b, other.n_features)
    assert (one.metadata, one.feature_names) == (other.metadata, other.feature_names)
    assert one.classes.tolist() == other.classes.tolist()
    np.testing.assert_allclose(
        one.decision_function(make_samples(one)), other.decision_function(make_samples(one)), rtol=1e-13, atol=1e-13
    )  # columns first are multiplied in another order
    np.testing.assert_array_equal(one.predict(make_samples(one)), other.predict(make_samples(one)))


# what is written is read


@pytest.mark.parametrize("name", MODELS)
def test_what_is_saved_is_loaded(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    MODELS[name].save(path)
    check_same_model(qpsvm.load(path), MODELS[name])
    check_same_model(qpsvm.load(str(path)), pickle.loads(pickle.dumps(MODELS[name])))
    with np.load(path, allow_pickle=False) as archive:
        assert {"header", "classes", "b", "coef"} <= set(archive.files)
    assert os.listdir(tmp_path) == ["model.npz"]


@pytest.mark.parametrize("name", MODELS)
def test_files_of_the_first_version_are_read(name: str, tmp_path: Path) -> None:
    """As `save` wrote them before columns had names: by NumPy, and with no such key in the header."""
    model = MODELS[name]
    path = tmp_path / "model.npz"
    model.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"]))
    assert header.pop("feature_names") == (list(model.feature_names) if model.feature_names else None)
    for write in (np.savez_compressed, np.savez):
        write(path, **{**arrays, "header": np.array(json.dumps(header))})
        check_same_model(qpsvm.load(path), replace(model, feature_names=None))


def test_arrays_of_another_machine_are_read(tmp_path: Path) -> None:
    """Other byte order, other widths, columns first."""
    path = tmp_path / "model.npz"
    for model in MODELS.values():
        model.save(path)
        with np.load(path) as archive:
            arrays = {name: archive[name].copy(order="F") for name in archive.files}
        np.savez(path, **{name: array.astype(array.dtype.newbyteorder(">")) for name, array in arrays.items()})
        check_same_model(qpsvm.load(path), model)


@pytest.mark.slow
def test_arrays_that_pack_like_a_trap_are_written_so_that_they_load(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    zeros = np.zeros((SMALL_BYTES // 8 // 1000 + 1, 1000))
    model = Model(Linear(), np.array([0, 1]), 0.5, np.ones(len(zeros)), zeros, None, 1000)
    model.save(path)
    assert qpsvm.load(path).vectors.shape == zeros.shape
    metadata = {"zeros": [0.0] * (SMALL_TEXT_BYTES // 16)}
    replace(MODELS["rbf"], metadata=metadata).save(path)
    assert qpsvm.load(path).metadata == metadata
    assert os.listdir(tmp_path) == ["model.npz"]


def test_metadata_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    given = {"text": "é\ud800\0", "": [1, 2.5, None, True, {"deep": [[]]}], "large": 2**70, "inf": float("inf")}
    replace(MODELS["linear"], metadata=given).save(path)
    assert qpsvm.load(path).metadata == given


def test_scalars_of_numpy_and_tuples_become_those_of_json(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    given = {"a": np.float32(0.5), "b": np.int64(3), "c": (np.bool_(True), np.str_("x")), "d": np.longdouble(0.25)}
    replace(MODELS["linear"], metadata=given).save(path)
    again = qpsvm.load(path).metadata
    assert again == {"a": 0.5, "b": 3, "c": [True, "x"], "d": 0.25}
    assert [type(again[key]) for key in "abd"] == [float, int, float]


# what cannot be written leaves what was there

LOOP: list[Any] = []
LOOP.append(LOOP)

METADATA: dict[str, tuple[Any, tuple[str, ...]]] = {
    "decimal": ({"price": {"C": Decimal("0.1")}}, ("metadata['price']['C']", "Decimal")),
    "object in a list": ({"a": [0, 1, object()]}, ("metadata['a'][2]", "object")),
    "date": ({"when": date(2020, 1, 1)}, ("metadata['when']", "date")),
    "key None": ({"a": {None: 1}}, ("metadata['a']", "the key None")),
    "array": ({"mean": np.zeros(3)}, ("metadata['mean']", "tolist")),
    "complex": ({"z": np.complex128(1j)}, ("metadata['z']",)),
    "time span": ({"t": np.timedelta64(1, "ns")}, ("metadata['t']",)),
    "bytes": ({"raw": b"x"}, ("metadata['raw']",)),
    "set": ({"a": {1}}, ("metadata['a']",)),
    "other sequence": ({"a": deque([1])}, ("metadata['a']",)),
    "number for a key": ({"a": {1: 2}}, ("metadata['a']", "key 1", "'1'")),
    "a loop": ({"a": LOOP}, ("contains itself",)),
    "a huge number": ({"a": 1 << 100_000}, ("metadata['a']",)),
    "not a dict": ([1], ("metadata", "list")),
    "nearly a dict": (UserDict(), ("metadata", "UserDict")),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_json_cannot_hold_leaves_the_model_that_was_there(name: str, tmp_path: Path) -> None:
    metadata, says = METADATA[name]
    path = tmp_path / "model.npz"
    before = save_to_bytes(MODELS["linear"], path)
    with pytest.raises(qpsvm.ParameterTypeError) as caught:
        replace(MODELS["rbf"], metadata=metadata).save(path)
    for part in says:
        assert part in str(caught.value)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


UNSOUND: dict[str, dict[str, Any]] = {
    "b is nan": {"b": float("nan")},
    "b is text": {"b": "x"},
    "coef too short": {"coef": np.ones(1)},
    "a width of no array": {"n_features": 7},
    "no width": {"n_features": 2.5},
    "one label": {"classes": np.array([1, 1])},
    "gamma without a value": {"kernel": RBF("scale")},
    "names of another width": {"feature_names": ("a",)},
    "the same name twice": {"feature_names": ("a", "a", "b")},
}


@pytest.mark.parametrize("name", UNSOUND)
def test_a_model_that_would_not_load_is_not_saved(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    before = save_to_bytes(MODELS["linear"], path)
    with pytest.raises(qpsvm.DataError):
        replace(MODELS["rbf"], **UNSOUND[name]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


def test_labels_that_numpy_would_make_equal_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(qpsvm.UnsupportedError, match="NUL"):
        replace(MODELS["rbf"], classes=np.array(["a", "a\0"], object)).save(tmp_path / "model.npz")
    assert not os.listdir(tmp_path)


def run(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A child that saves; it imports this very copy of the library."""
    environment = {**os.environ, "PYTHONPATH": str(Path(qpsvm.__file__).parents[1])}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


CHILD = """
import resource, signal, sys
import numpy as np, qpsvm
from qpsvm import Linear, Model
path, limits = sys.argv[1], [int(limit) for limit in sys.argv[2:]]
vectors = np.random.default_rng(0).normal(size=(20_000, 10))
model = Model(Linear(), np.array([0, 1]), 0.0, np.ones(len(vectors)), vectors, None, 10)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
for limit in limits:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit or unlimited, unlimited))
    try:
        model.save(path)
        print("saved")
    except qpsvm.QPSVMError as error:
        assert isinstance(error, OSError), error
        print(type(error).__name__, error, error.__cause__.strerror)
"""

posix = pytest.mark.skipif(os.name != "posix", reason="limits, signals and devices of POSIX")


@pytest.mark.slow
@posix
def test_a_file_that_may_not_grow_leaves_the_model_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    before = save_to_bytes(MODELS["linear"], path)
    lines = run(CHILD, path, 1, 1000, 500_000).communicate(timeout=300)[0].splitlines()
    assert len(lines) == 3
    for line in lines:
        assert line.startswith(f"FileAccessError cannot write {path}: File too large"), line
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]


@pytest.mark.slow
@posix
def test_a_full_disk_leaves_the_model_that_was_there(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        path = disk / "model.npz"
        before = save_to_bytes(MODELS["linear"], path)
        output = run(CHILD, path, 0).communicate(timeout=300)[0]
        assert output.startswith("FileAccessError"), output
        assert "No space left" in output
        assert path.read_bytes() == before
        assert os.listdir(disk) == ["model.npz"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


KILLED = """
import os, sys, signal
import numpy as np, qpsvm
from qpsvm import Linear, Model
from qpsvm.result.saving import archive
write = archive.np.lib.format.write_array
def slowly(file, array, **options):
    write(file, array, **options)
    if array.size > 2:
        sys.stdout.write("writing\\n"); sys.stdout.flush()
        signal.pause()
archive.np.lib.format.write_array = slowly
Model(Linear(), np.array([0, 1]), 0.0, np.ones(3), np.ones((3, 2)), None, 2).save(sys.argv[1])
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT] if os.name == "posix" else [])
def test_a_killed_process_leaves_the_model_that_was_there(sign: int, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    before = save_to_bytes(MODELS["linear"], path)
    child = run(KILLED + "\n", path)
    assert child.stdout is not None
    assert child.stdout.readline() == "writing\n"
    child.send_signal(sign)
    child.communicate(timeout=300)
    assert path.read_bytes() == before
    left = [name for name in os.listdir(tmp_path) if name != "model.npz"]
    assert len(left) == (sign == signal.SIGKILL), left
    assert all(name.startswith(".model.npz.") and name.endswith(UNFINISHED) for name in left)


@posix
def test_what_cannot_be_replaced_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, says in (
        (tmp_path, "folder"), (pipe, "pipe"), (Path("/dev/null"), "device"), (Path("/dev/full"), "device"),
        (tmp_path / "no" / "model.npz", "no folder"), (tmp_path / ("x" * 300), "too long"), ("", "folder"),
        ("a\0b", "character"), ("\ud800" * 2, "character"), ("/proc/model.npz", "/proc"),
    ):  # fmt: skip
        if str(path).startswith(("/dev", "/proc")) and not Path(path).parent.exists():
            continue
        if path in (pipe, Path("/dev/null"), Path("/dev/full")):
            before = os.stat(path).st_mode
        else:
            before = None
        with pytest.raises(qpsvm.FileAccessError, match=says) as caught:
            MODELS["rbf"].save(path)
        assert isinstance(caught.value, OSError)
        assert before is None or os.stat(path).st_mode == before
    assert os.listdir(tmp_path) == ["pipe"]
    for no_path in (None, 3, b"model.npz", io.BytesIO()):
        with pytest.raises(qpsvm.ParameterTypeError, match="path"):
            MODELS["rbf"].save(no_path)  # type: ignore[arg-type]
        with pytest.raises(qpsvm.ParameterTypeError, match="path"):
            qpsvm.load(no_path)  # type: ignore[arg-type]


@posix
def test_permissions_are_those_that_open_would_give(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    old = os.umask(0o027)
    try:
        MODELS["rbf"].save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        MODELS["linear"].save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


@posix
def test_a_file_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    before = save_to_bytes(MODELS["linear"], path)
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(qpsvm.FileAccessError, match="Permission denied"):
        MODELS["rbf"].save(path)
    path.chmod(0o000)
    with pytest.raises(qpsvm.FileAccessError, match="Permission denied"):
        qpsvm.load(path)
    path.chmod(0o644)
    assert path.read_bytes() == before


@posix
def test_a_link_keeps_pointing(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.npz"
    target = tmp_path / "there" / "model.npz"
    link.symlink_to(target)
    for name in ("linear", "rbf"):  # to nothing yet, then to a file
        MODELS[name].save(link)
        assert link.is_symlink()
        check_same_model(qpsvm.load(target), MODELS[name])
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    with pytest.raises(qpsvm.FileAccessError):
        MODELS["rbf"].save(circle)
    with pytest.raises(qpsvm.FileAccessError):
        qpsvm.load(circle)


def test_a_result_is_saved_in_the_same_way(tmp_path: Path) -> None:
    result = qpsvm.solve(CSVM(X, Y))
    path = tmp_path / "model.npz"
    result.save(path)
    before = path.read_bytes()
    result.model.metadata["x"] = Decimal(1)
    with pytest.raises(qpsvm.ParameterTypeError):
        result.save(path)
    assert path.read_bytes() == before


def test_a_file_is_on_the_disk_before_it_takes_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, and the name after that: a power cut at any moment leaves the old file or the new one."""
    happened: list[object] = []
    sync, replace = os.fsync, Path.replace

    def record_sync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        happened.append("folder" if stat.S_ISDIR(status.st_mode) else status.st_size)
        sync(descriptor)

    def record_replace(path: Path, target: Path) -> Path:
        happened.append("name")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(Path, "replace", record_replace)
    write_text(tmp_path / "new.txt", 5 * "text")
    assert happened == [20, "name", "folder"]


def test_whatever_ends_the_writing_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), open_replacement(path) as file:
        raise KeyboardInterrupt(file.write(b"new"))
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]
    with open_replacement(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


# what is damaged does not get in


def arrays_of(model: Model, path: Path) -> dict[str, Any]:
    model.save(path)
    with np.load(path) as archive:
        return dict(archive)


def change_file(name: str, **changes: Any) -> Callable[[Path], None]:
    """Return a function that saves a file with arrays or header fields replaced; None takes an array away."""

    def write(path: Path) -> None:
        arrays = arrays_of(MODELS[name], path)
        header = json.loads(str(arrays["header"]))
        for key, value in changes.items():
            if key in header:
                header[key] = value
            elif value is None:
                del arrays[key]
            else:
                arrays[key] = value(arrays[key]) if callable(value) else value
        np.savez(path, **{**arrays, "header": changes.get("header", np.array(json.dumps(header)))})

    return write


def set_entry(index: int, value: Any) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array[index] = value
        return array

    return change


class Evil:
    """Unpickling this is a crime."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a model file was unpickled",))


FALSE: dict[str, Callable[[Path], Any]] = {
    "empty": lambda p: p.write_bytes(b""),
    "binary": lambda p: p.write_bytes(bytes(range(256)) * 9),
    "a pickle": lambda p: p.write_bytes(pickle.dumps(Evil())),
    "other arrays": lambda p: np.savez(p, X=X),
    "objects": lambda p: np.savez(p, header=np.array([Evil()], dtype=object)),
    "half a header": change_file("rbf", header=np.array("{")),
    "header not a record": change_file("rbf", header=np.array("[1]")),
    "newer format": change_file("rbf", format=999),
    "another kernel": change_file("rbf", kernel="os.system"),
    "gamma negative": change_file("rbf", parameters={"gamma": -1.0}),
    "unknown parameter": change_file("rbf", parameters={"gama": 1.0}),
    "no b": change_file("rbf", b=None),
    "b nan": change_file("rbf", b=np.array(np.nan)),
    "a coefficient lost": change_file("rbf", coef=lambda a: a[1:]),
    "a column lost": change_file("rbf", vectors=lambda a: a[:, 1:]),
    "three classes": change_file("rbf", classes=np.arange(3)),
    "indices of 1e9": change_file("sparse", indices=set_entry(0, 1_000_000_000)),
    "negative indices": change_file("sparse", indices=set_entry(0, -1)),
    "indices as numbers": change_file("sparse", indices=lambda a: a.astype(float)),
    "indices of the width": change_file("sparse", indices=set_entry(3, 40)),
    "indptr goes back": change_file("sparse", indptr=set_entry(1, 1_000)),
    "indptr does not begin at 0": change_file("sparse", indptr=set_entry(0, 1)),
    "indptr ends early": change_file("sparse", indptr=set_entry(-1, 1)),
    "indptr too short": change_file("sparse", indptr=lambda a: a[:-1]),
    "huge rows": change_file("sparse", rows=np.int64(2**62)),
    "negative rows": change_file("sparse", rows=np.int64(-1)),
    "two ways": change_file("sparse", w=np.zeros(40)),
    "no way": change_file("linear", w=None),
    "w of a kernel": change_file("linear", kernel="rbf", parameters={"gamma": 1.0}),
    "stored values nan": change_file("sparse", data=set_entry(0, np.nan)),
    "vectors infinite": change_file("rbf", vectors=lambda a: a * np.inf),
    "vectors whose squares overflow": change_file("rbf", vectors=lambda a: a * 1e200),
    "coef nan": change_file("rbf", coef=set_entry(0, np.nan)),
    "complex coef": change_file("rbf", coef=lambda a: a + 0j),
    "coef of two dimensions": change_file("rbf", coef=lambda a: a[:, None]),
    "b of one": change_file("rbf", b=np.zeros(1)),
    "classes equal": change_file("rbf", classes=np.array([1, 1])),
    "classes nan": change_file("rbf", classes=np.array([0, np.nan])),
    "classes infinite": change_file("rbf", classes=np.array([0, np.inf])),
    "classes complex": change_file("rbf", classes=np.array([0, 1j])),
    "classes that are no dates": change_file("rbf", classes=np.array(["2020", "NaT"], "M8[D]")),
    "classes that are no text": change_file("rbf", classes=np.array([1, 2**31], np.uint32).view("<U1")),
    "width negative": change_file("rbf", n_features=-3),
    "width zero": change_file("rbf", n_features=0),
    "width true": change_file("rbf", n_features=True),
    "width a float": change_file("rbf", n_features=3.0),
    "width text": change_file("rbf", n_features="3"),
    "width huge": change_file("sparse", n_features=10**30),
    "gamma text": change_file("rbf", parameters={"gamma": "scale"}),
    "gamma left to the rule": change_file("rbf", parameters={}),
    "gamma null": change_file("rbf", parameters={"gamma": None}),
    "gamma nan": change_file("rbf", parameters={"gamma": float("nan")}),
    "degree true": change_file("polynomial", parameters={"degree": True, "gamma": 1.0}),
    "degree a list": change_file("polynomial", parameters={"degree": [3], "gamma": 1.0}),
    "parameters a list": change_file("rbf", parameters=[1.0]),
    "kernel a list": change_file("rbf", kernel=["rbf"]),
    "kernel null": change_file("rbf", kernel=None),
    "format text": change_file("rbf", format="1"),
    "format true": change_file("rbf", format=True),
    "metadata null": change_file("rbf", metadata=None),
    "names too few": change_file("named", feature_names=["a", "b"]),
    "names twice": change_file("named", feature_names=["a", "b", "a"]),
    "names numbers": change_file("named", feature_names=[1, 2, 3]),
    "names text": change_file("named", feature_names="abc"),
    "numbers of rows that do not exist": change_file("precomputed", vectors=set_entry(0, N)),
    "negative numbers of rows": change_file("precomputed", vectors=set_entry(0, -1)),
    "numbers of rows as floats": change_file("precomputed", vectors=lambda a: a + 0.0),
    "header deep": change_file("rbf", header=np.array("[" * 100_000)),
    "header a long number": change_file("rbf", header=np.array("1" * 10_000)),
    "a stranger": change_file("rbf", stranger=np.zeros(2)),
}


def test_changing_nothing_changes_nothing(tmp_path: Path) -> None:
    for name in MODELS:
        change_file(name)(tmp_path / "model.npz")
        check_same_model(qpsvm.load(tmp_path / "model.npz"), MODELS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", FALSE)
def test_a_file_that_says_what_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    FALSE[name](path)
    with pytest.raises(qpsvm.FileFormatError, match=r"model\.npz") as caught:
        qpsvm.load(path)
    assert "pickle" not in str(caught.value)
    assert "\n" not in str(caught.value)


def repack(path: Path, contents: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def unpack(model: Model, path: Path) -> dict[str, bytes]:
    model.save(path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def build_array_file(shape: tuple[int, ...], content: bytes, kind: str = "<f8") -> bytes:
    """Build an .npy file that claims a shape."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue() + content


REFUSED = """
import sys, zipfile
import qpsvm, scipy.sparse

def peak():
    # Its own: `ru_maxrss` begins at what its parent took.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmHWM"))

before = peak()
for path in sys.argv[1:]:
    try:
        print(qpsvm.load(path))
    except qpsvm.FileFormatError as error:
        print(error)
print(peak() - before)
"""


def bomb(path: Path, what: str) -> None:
    """64 MB of zeros in 0.06 MB."""
    zeros = bytes(64_000_000)
    parts = unpack(MODELS["rbf"], path)
    m = len(MODELS["rbf"].coef)
    if what == "header":
        parts["header.npy"] = build_array_file((), zeros, f"<U{len(zeros) // 4}")
    elif what == "a stranger":
        parts["stranger.npy"] = build_array_file((len(zeros) // 8,), zeros)
    else:
        parts["vectors.npy"] = build_array_file((m, len(zeros) // 8 // m), zeros[: len(zeros) // 8 // m * m * 8])
    size = len(parts["vectors.npy"])
    repack(path, parts)
    if what == "more than it says":
        raw = path.read_bytes()
        path.write_bytes(raw.replace(size.to_bytes(4, "little"), (1_000_000).to_bytes(4, "little")))
    assert path.stat().st_size < 500_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process in /proc")
def test_a_bomb_does_not_go_off(tmp_path: Path) -> None:
    """Refused before it is unpacked, whatever the directory of the archive says; by the memory of a child."""
    paths = [tmp_path / what for what in ("more than it says", "as it says", "a stranger", "header")]
    for path in paths:
        bomb(path, path.name)
    output = run(REFUSED, *paths).communicate(timeout=300)[0].splitlines()
    assert [line for line in output[:-1] if "unpacks" not in line and "another size" not in line] == []
    assert len(output) == len(paths) + 1
    assert int(output[-1]) < 40, "megabytes above what the library itself takes"


@pytest.mark.slow
def test_what_an_archive_may_unpack_to_is_bounded_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    for m, fits in ((SMALL_BYTES // 80 - 100, True), (SMALL_BYTES // 80 + 100, False)):
        model = Model(Linear(), np.array([0, 1]), 0.5, np.ones(m), np.zeros((m, 10)), None, 10)
        model.save(path)
        arrays = dict(np.load(path))
        np.savez_compressed(path, **arrays)
        assert arrays["vectors"].nbytes > MAX_RATIO * path.stat().st_size
        if fits:
            qpsvm.load(path)
            continue
        with pytest.raises(qpsvm.FileFormatError, match=r"unpacks to 32 MB.*packed size.*uncompressed"):
            qpsvm.load(path)
        np.savez(path, **arrays)  # the way out that the message names
        qpsvm.load(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method: int, tmp_path: Path) -> None:
    """They cannot be unpacked a piece at a time."""
    path = tmp_path / "model.npz"
    repack(path, unpack(MODELS["rbf"], path), method)
    with pytest.raises(qpsvm.FileFormatError, match="packed in another way"):
        qpsvm.load(path)


def test_a_part_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    parts = unpack(MODELS["rbf"], path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("coef.npy", parts["coef.npy"])
    with pytest.raises(qpsvm.FileFormatError, match="twice"):
        qpsvm.load(path)


@posix
def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # nobody writes to it: to open it would wait for ever
    for path in (pipe, tmp_path, Path("/dev/zero")):
        if path.exists():
            with pytest.raises(qpsvm.FileAccessError, match="not a model file"):
                qpsvm.load(path)
    for missing in (tmp_path / "no.npz", pipe / "no.npz", "nowhere/at/all"):
        with pytest.raises(qpsvm.MissingFileError):
            qpsvm.load(missing)
    for strange in ("", "x" * 300, "a\0b"):
        with pytest.raises(qpsvm.FileAccessError):
            qpsvm.load(strange)


@pytest.mark.slow
@pytest.mark.filterwarnings("error", "ignore:Duplicate name", "ignore:overflow:RuntimeWarning")
def test_damaged_files_end_in_one_error(tmp_path: Path) -> None:
    good = fuzz(tmp_path / "model.npz", FUZZED, 0)
    assert 0 < good < FUZZED // 2
