"""Ready-made scenes: samples that show one idea each, with three things to try."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.play.request import State, read_state

Points = list[tuple[float, float]]
LINEAR: dict[str, Any] = {"name": "linear"}


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


def state_of(
    positive: Points, negative: Points, machine: str = "c", kernel: Mapping[str, Any] = LINEAR, **parameters: Any
) -> State:
    """The state of two classes under a machine and a kernel."""
    labels = [1] * len(positive) + [-1] * len(negative)
    return read_state({"points": [*positive, *negative], "labels": labels, "machine": machine, "kernel": dict(kernel),
                       "parameters": parameters})  # fmt: skip


def cloud(n: int, middle: tuple[float, float], spread: float, seed: int) -> Points:
    """n points of a normal distribution around a middle, to two decimals."""
    normal = np.random.default_rng(seed).standard_normal((n, 2))
    return [(float(x), float(y)) for x, y in np.round(np.array(middle) + spread * normal, 2)]


CLUSTER: Points = [(1.0, 1.4), (1.6, 0.6), (2.1, 1.5), (1.4, 2.2), (2.6, 0.9)]
OPPOSITE: Points = [(-1.0, -1.2), (-1.7, -0.5), (-2.2, -1.6), (-1.3, -2.1), (-2.5, -0.8)]
OUTLIER: Points = [(-0.6, -0.4)]

SCENES: dict[str, Scene] = {
    "clouds": Scene(
        "Two clouds that overlap",
        (
            "Drag a sample across the boundary: its α grows from 0 to C, and there it stays.",
            "Move C: a small one buys a wide margin with much slack, a large one a narrow margin with little.",
            "Drag a sample far behind its own margin, where its α is 0: drag it on, and nothing else moves.",
        ),
        state_of(cloud(20, (0.9, 0.6), 0.9, 7), cloud(20, (-0.9, -0.6), 0.9, 8), C=1.0),
    ),
    "apart": Scene(
        "Two clouds that can be separated",
        (
            "Two or three samples hold the margin. Drag one of the others: nothing changes.",
            "Drag a sample of the margin outwards: the margin widens until another sample holds it.",
            "Drag a sample into the other cloud: the hulls meet, and a point in both of them is the proof.",
        ),
        state_of(cloud(10, (1.7, 1.0), 0.6, 3), cloud(10, (-1.7, -1.0), 0.6, 4), "hard"),
    ),
    "inseparable": Scene(
        "A hard margin that does not exist",
        (
            "The star lies in both hulls: that no line can separate them needs no other proof.",
            "Pull the stray sample back to its class: as soon as the hulls part, there is a margin.",
            "Choose the C-SVM: with a price on slack, every choice of samples has a solution.",
        ),
        state_of([*CLUSTER, (-1.6, -1.1)], OPPOSITE, "hard"),
    ),
    "nu_max": Scene(
        "ν beyond its largest value",
        (
            "Each class has to hold ν/2, and no sample more than 1/n: three samples of twelve hold 1/4 at the most.",
            "Lower ν to 0.5: that is the largest value that works here.",
            "Flip samples to the smaller class: the largest ν is twice the share of the smaller class.",
        ),
        state_of([(1.2, 0.8), (1.8, 1.6), (0.7, 1.9)], [*OPPOSITE, (-0.4, -1.4), (-0.8, -0.2), (-0.1, -2.0),
                                                        (0.6, -1.2)], "nu", nu=0.8),
    ),
    "duplicate": Scene(
        "The same sample twice",
        (
            "The two samples at one place share what one would have: their sum counts, and many splits are optimal.",
            "Be the solver: move α from the one to the other. The gap stays as it is.",
            "Lower C to 0.15: both are at their bound, and the margin widens.",
        ),
        state_of([(1.0, 0.6), (1.0, 0.6), (2.2, 1.6), (1.7, 2.4)], [(-1.0, -0.4), (-2.1, -1.3), (-1.6, 0.7)], C=10.0),
    ),
    "two_labels": Scene(
        "Two labels at one place",
        (
            "No f can give one place two signs, so one of the two pays at least 1, at any C.",
            "Raise C as far as it goes: both stay at their bound, and their parts of w cancel.",
            "Choose the hard margin: the common point of the hulls is the place itself.",
        ),
        state_of([*CLUSTER, (0.1, 0.0)], [*OPPOSITE, (0.1, 0.0)], C=1.0),
    ),
    "outlier": Scene(
        "An outlier at C = 1",
        (
            "One sample lies far out of its class. It pays slack, and the margin of the others stays wide.",
            "Raise C to 1000: the same outlier now rules the margin.",
            "Drag the outlier further across: its α stays C, while its slack grows.",
        ),
        state_of([*CLUSTER, *OUTLIER], OPPOSITE, C=1.0),
    ),
    "outlier_1000": Scene(
        "An outlier at C = 1000",
        (
            "Slack is dear, so the margin bends to a single sample.",
            "Lower C to 1: the margin widens, and the outlier pays.",
            "Delete the outlier: the margin is that of the others, and C hardly matters any more.",
        ),
        state_of([*CLUSTER, *OUTLIER], OPPOSITE, C=1000.0),
    ),
    "xor": Scene(
        "XOR",
        (
            "With a linear kernel w is 0: no line is better than none. Choose it and see.",
            "The RBF kernel and the polynomial of degree 2 both bend the boundary. Compare them.",
            "Make γ large: every sample gets an island of its own, and all of them support.",
        ),
        state_of([(1.0, 1.0), (-1.0, -1.0), (1.4, 0.9), (-1.4, -0.9)],
                 [(1.0, -1.0), (-1.0, 1.0), (1.4, -0.9), (-1.4, 0.9)], "c", {"name": "rbf", "gamma": 0.5}, C=10.0),
    ),
}  # fmt: skip
