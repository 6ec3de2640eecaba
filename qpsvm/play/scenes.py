"""Ready-made scenes: data that show one idea each, with three things to try."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.arrays.types import FloatArray
from qpsvm.play.request import State, read_state


@dataclass(frozen=True, eq=False)
class Scene:
    """A state with what to try in it.

    Attributes
    ----------
    title : str
    tries : tuple of str
        Three lines.
    state : State
    """

    title: str
    tries: tuple[str, str, str]
    state: State = field(repr=False)


def clouds(n: int, apart: tuple[float, float], spread: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Two normal clouds around +apart and −apart, n points in all, to two decimals: (n, 2) and (n,)."""
    rng = np.random.default_rng(seed)
    labels = np.where(np.arange(n) % 2, 1.0, -1.0)
    points = np.round(labels[:, None] * np.array(apart) + spread * rng.standard_normal((n, 2)), 2)
    return points, labels


def _state(points: FloatArray, labels: FloatArray, machine: str, kernel: dict[str, Any], **parameters: Any) -> State:
    return read_state({"points": points.tolist(), "labels": labels.tolist(), "machine": machine, "kernel": kernel,
                       "parameters": parameters})  # fmt: skip


def _of(groups: dict[int, list[tuple[float, float]]]) -> tuple[FloatArray, FloatArray]:
    """Points and labels from lists of points by label."""
    points = [point for group in groups.values() for point in group]
    labels = [float(label) for label, group in groups.items() for _ in group]
    return np.array(points), np.array(labels)


LINEAR: dict[str, Any] = {"name": "linear"}
APART, MIXED = clouds(24, (1.6, 1.0), 0.7, 7), clouds(40, (0.9, 0.6), 0.9, 7)

SCENES: dict[str, Scene] = {
    "clouds": Scene(
        "Two clouds that overlap",
        ("Drag a sample across the boundary and watch its α grow from 0 to C.", "Move C.", "Flip a class."),
        _state(*MIXED, "c", LINEAR, C=1.0),
    ),
}
