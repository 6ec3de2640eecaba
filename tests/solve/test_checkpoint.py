"""Where a solve was, on disk: what goes in comes out, and nothing else than what belongs to the solve."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from full_disk import fill_the_disk

from qpsvm.base.errors import DataError, FileAccessError, FileFormatError, ParameterError, QPSVMWarning
from qpsvm.solve import checkpointing as checkpoint
from qpsvm.solve.checkpointing import Checkpoint

SIGNATURE = {"machine": "CSVM", "C": 1.0, "width": np.arange(3.0)}
STATE = {"w": np.array([0.1, -np.pi, 1e-300]), "b": 1 / 3, "gap": float("inf"), "stage": "band"}


def kept(path: Path) -> Checkpoint:
    """A file with a state."""
    found = Checkpoint(path, "f" * 32, SIGNATURE, numbers=100)
    assert found.state is None
    found.keep(STATE)
    return found


def test_a_state_comes_back_as_it_was(tmp_path):
    path = tmp_path / "solve.npz"
    kept(path)
    again = Checkpoint(str(path), "f" * 32, SIGNATURE)
    assert again.state is not None
    assert again.state.keys() == STATE.keys()
    assert (again.state.pop("w") == STATE["w"]).all()
    assert again.state == {name: value for name, value in STATE.items() if name != "w"}
    assert Checkpoint(path, "f" * 32, SIGNATURE).state is not None  # being read, it is kept
    assert os.listdir(tmp_path) == [path.name]


def test_what_belongs_to_another_solve_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "solve.npz"
    kept(path)
    content = path.read_bytes()
    with pytest.raises(DataError, match="belongs to other data"):
        Checkpoint(path, "0" * 32, SIGNATURE)
    with pytest.raises(ParameterError, match=r"with C = 1\.0, and here it is 2\.0"):
        Checkpoint(path, "f" * 32, {**SIGNATURE, "C": 2.0})
    with pytest.raises(ParameterError, match="width"):
        Checkpoint(path, "f" * 32, {**SIGNATURE, "width": np.arange(3.0) + 1})
    with pytest.raises(ParameterError, match="epsilon"):
        Checkpoint(path, "f" * 32, {**SIGNATURE, "epsilon": 0.1})
    assert path.read_bytes() == content


def test_damage_and_other_versions_are_named(tmp_path, monkeypatch):
    path = tmp_path / "solve.npz"
    kept(path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place])
        with pytest.raises(FileFormatError, match="damaged"):
            Checkpoint(path, "f" * 32, SIGNATURE)
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:  # a byte that no number depends on, such as a date, may be another
            found = Checkpoint(path, "f" * 32, SIGNATURE).state
        except FileFormatError:
            continue
        assert found is not None
        assert (found["w"] == STATE["w"]).all()
        assert found["b"] == STATE["b"]
    path.write_bytes(content)
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(FileFormatError, match="format 1, and this version reads 2"):
        Checkpoint(path, "f" * 32, SIGNATURE)


def test_what_cannot_be_written_is_said_at_once(tmp_path, monkeypatch):
    with pytest.raises(FileAccessError):
        Checkpoint(tmp_path / "nowhere" / "solve.npz", "f", SIGNATURE)
    with pytest.raises(FileAccessError, match="folder"):
        Checkpoint(tmp_path, "f", SIGNATURE)
    fill_the_disk(monkeypatch)
    with pytest.raises(FileAccessError):
        Checkpoint(tmp_path / "solve.npz", "f", SIGNATURE)
    assert not os.listdir(tmp_path)


def test_a_disk_that_is_full_by_now_does_not_end_the_solve(tmp_path, monkeypatch):
    path = tmp_path / "solve.npz"
    found = kept(path)
    fill_the_disk(monkeypatch)
    with pytest.warns(QPSVMWarning, match="not up to date"):
        found.keep({**STATE, "b": 7.0}, now=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.keep({**STATE, "b": 7.0}, now=True)  # said once
    monkeypatch.undo()
    again = Checkpoint(path, "f" * 32, SIGNATURE)
    assert again.state is not None
    assert again.state["b"] == STATE["b"]


def test_writing_takes_a_small_share_of_the_time(tmp_path):
    found = kept(tmp_path / "solve.npz")
    before = found.state
    found.keep({**STATE, "b": 7.0})  # at once after the other
    assert found.state is before
    found.keep({**STATE, "b": 7.0}, now=True)
    assert found.state is not None
    assert found.state["b"] == 7.0
