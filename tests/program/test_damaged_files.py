"""Damaged files of QPs and samples end in an error of ours, or in what they held."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.data.sources.arrays import read_width

#: Damaged files of each kind.
COUNT = 200


def save_programs(path: Path) -> list[bytes]:
    """Return the files of a dense and of a sparse QP."""
    rows = {"G": [[1.0, 2.0], [3.0, 1.0]], "h": [4.0, 6.0], "A": sp.csr_array([[1.0, 0.0]]), "b": [0.5]}
    contents = []
    for P in (np.eye(2), sp.diags_array([1.0, 2.0])):
        qpsvm.QP(P=P, q=[-3.0, 0.0], r=1.0, **rows, lb=-1.0, title="small").save(path)
        contents.append(path.read_bytes())
    return contents


def damage_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the bytes with some replaced, or without an end or a middle, or with a block repeated."""
    way = rng.integers(4)
    raw = bytearray(content)
    first, last = sorted(int(place) for place in rng.integers(0, len(raw), 2))
    if way == 0:
        for place in rng.integers(0, len(raw), rng.integers(1, 9)):
            raw[place] = rng.integers(256)
    elif way == 1:
        del raw[first:]
    elif way == 2:
        del raw[first:last]
    else:
        raw[last:last] = raw[first:last]
    return bytes(raw)


def pack_archive(members: dict[str, bytes]) -> bytes:
    """Return an archive whose checksums are right, whatever is in it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return file.getvalue()


def unpack_archive(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def loads(path: Path, content: bytes) -> bool:
    """Whether a QP comes back; any error but one of ours, which names the file, is raised."""
    path.write_bytes(content)
    try:
        return isinstance(qpsvm.QP.load(path), qpsvm.QP)
    except qpsvm.QPSVMError as error:
        assert path.name in str(error)  # noqa: PT017
        return False


@pytest.mark.filterwarnings("ignore")  # of NumPy, about old headers and values that it casts
@pytest.mark.parametrize("way", ["bytes", "members"])
def test_a_damaged_qp_is_an_error_of_ours_or_a_qp(tmp_path, way):
    rng = np.random.default_rng(5)
    originals = save_programs(tmp_path / "whole.npz")
    loaded = 0
    for number in range(COUNT):
        content = originals[number % 2]
        if way == "bytes":
            damaged = damage_bytes(content, rng)
        else:
            members = unpack_archive(content)
            name = sorted(members)[rng.integers(len(members))]
            damaged = pack_archive({**members, name: damage_bytes(members[name], rng)})
        loaded += loads(tmp_path / "damaged.npz", damaged)
    assert loaded < COUNT / 2
    assert all(loads(tmp_path / "whole.npz", content) for content in originals)


ODD: tuple[Any, ...] = (None, True, -1, 10**30, 0.5, "", "G", [], [0], [0, None], [0, 9], ["G", 0, 1], {}, {"a": 1})


def test_words_that_a_qp_does_not_have_are_an_error_of_ours(tmp_path):
    original = unpack_archive(save_programs(tmp_path / "whole.npz")[0])
    words = json.loads(str(np.load(io.BytesIO(original["words.npy"]))))
    for odd in ODD:
        for said in (odd, *({**words, name: odd} for name in words), {**words, "variables": {"x": odd}},
                     {**words, "constraints": {"G": odd}}):  # fmt: skip
            member = io.BytesIO()
            np.save(member, np.array(json.dumps(said)))
            loads(tmp_path / "damaged.npz", pack_archive({**original, "words.npy": member.getvalue()}))


def test_what_is_wrong_with_a_damaged_qp_is_said(tmp_path):
    whole = unpack_archive(save_programs(tmp_path / "whole.npz")[0])
    path = tmp_path / "damaged.npz"
    bad, array = io.BytesIO(), io.BytesIO()
    np.save(bad, np.array([np.nan, 0.0]))
    np.save(array, np.eye(2))
    for content, message in (
        (pack_archive({**whole, "q.npy": bad.getvalue()}), r"damaged\.npz .*q .*finite"),
        (pack_archive({name: raw for name, raw in whole.items() if name != "P.npy"}), r"damaged\.npz .*'P'"),
        (array.getvalue(), r"damaged\.npz is no file"),
        (b"", r"damaged\.npz is no file"),
    ):
        path.write_bytes(content)
        with pytest.raises(qpsvm.FileFormatError, match=message):
            qpsvm.QP.load(path)


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_npy_file_of_samples_is_an_error_of_ours(tmp_path):
    rng = np.random.default_rng(6)
    path = tmp_path / "damaged.npy"
    np.save(path, np.arange(12.0).reshape(4, 3))
    original = path.read_bytes()
    for _ in range(COUNT):
        head = damage_bytes(original[:128], rng)
        path.write_bytes(head + original[128:] if rng.random() < 0.7 else damage_bytes(original, rng))
        try:
            assert read_width(str(path)) >= 0
        except qpsvm.QPSVMError as error:
            assert "damaged" in str(error)  # noqa: PT017
