"""Ready-made scenes: samples that show one idea each, with three things to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.faces.play.request import State, read_state

Points = list[tuple[float, float]]
LINEAR: dict[str, Any] = {"name": "linear"}


@dataclass(frozen=True, eq=False)
class Scene:
    """A state with what to try in it.

    tries: Three lines.
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


def unlabelled(points: Points, machine: str, kernel: Mapping[str, Any] = LINEAR, **parameters: Any) -> State:
    """The state of a machine without classes; of a regression, points are (x, t)."""
    return read_state({"points": points, "machine": machine, "kernel": dict(kernel), "parameters": parameters})


def along(
    n: int, of: Callable[[FloatArray], FloatArray], noise: Callable[[FloatArray], FloatArray], seed: int
) -> Points:
    """n points (x, t) with x evenly from −3 to 3 and t = of(x) + noise(x) times a normal number, to two decimals."""
    x = np.linspace(-3.0, 3.0, n)
    t = of(x) + noise(x) * np.random.default_rng(seed).standard_normal(n)
    return [(float(a), float(b)) for a, b in np.round(np.column_stack([x, t]), 2)]


def cloud(n: int, middle: tuple[float, float], spread: float, seed: int) -> Points:
    """n points of a normal distribution around a middle, to two decimals."""
    normal = np.random.default_rng(seed).standard_normal((n, 2))
    return [(float(x), float(y)) for x, y in np.round(np.array(middle) + spread * normal, 2)]


CLUSTER: Points = [(1.0, 1.4), (1.6, 0.6), (2.1, 1.5), (1.4, 2.2), (2.6, 0.9)]
OPPOSITE: Points = [(-1.0, -1.2), (-1.7, -0.5), (-2.2, -1.6), (-1.3, -2.1), (-2.5, -0.8)]
STRAY: Points = [(1.8, 4.2), (2.6, 4.6)]
OUTLIER: Points = [(-0.6, -0.4)]

SCENES: dict[str, Scene] = {
    "clouds": Scene(
        "Two clouds that overlap",
        (
            "Drag a sample across the boundary: its α grows from 0 to C, and there it stays.",
            "Move C: a small one buys a wide margin with much slack, a large one a narrow margin with little.",
            "Drag a sample far behind its own margin: α is 0, and nothing else moves.",
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
            "Lower ν to 0.5, the largest value that works here.",
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
            "Lower C to 0.1, below half of their sum: both are at their bound, and the margin widens.",
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
            "The sample far out pays its slack, and the margin of the others stays wide.",
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
    "tube": Scene(
        "A tube",
        (
            "Drag a sample up and down inside the tube: its β is 0, and nothing moves.",
            "Drag it out of the tube: β grows from 0 to C, and there it stays, however far it goes.",
            "Widen ε: fewer samples hold the curve, and beyond 2 none does, and f is flat.",
        ),
        unlabelled(along(25, lambda x: np.sin(1.5 * x) + 0.2 * x, lambda x: 0.2 + 0.0 * x, 5), "epsilon-svr",
                   {"name": "rbf", "gamma": 0.5}, C=5.0, epsilon=0.25),
    ),
    "outliers": Scene(
        "Outliers: absolute against squared",
        (
            "Set loss to squared: now each outlier pulls with 2C times its distance, and the line tilts towards it.",
            "Drag an outlier further up. The absolute loss does not care: its β is C already.",
            "Delete the outliers: both losses give nearly the same line.",
        ),
        unlabelled([*along(16, lambda x: 0.5 * x, lambda x: 0.15 + 0.0 * x, 6), *STRAY], "epsilon-svr", epsilon=0.1),
    ),
    "quantile": Scene(
        "A quantile",
        (
            "τ = 0.9: nine of ten samples are to lie below the line. Below it β is −C(1 − τ), above it Cτ.",
            "Move τ from 0.1 to 0.9: where the samples spread, the lines part.",
            "Drag a sample that is above the line upwards: the line stays, as a quantile counts and does not measure.",
        ),
        unlabelled(along(40, lambda x: 0.4 * x, lambda x: 0.15 * (x + 3.5), 7), "quantile-svr", C=10.0, quantile=0.9),
    ),
    "nu_tube": Scene(
        "A tube that finds its width",
        (
            "ν = 0.3: at most 0.3 of the samples are beyond the tube, and at least 0.3 on its edge or beyond.",
            "Lower ν: the tube widens until it holds nearly all. Raise ν to 1: it shrinks onto the curve.",
            "Drag a sample that is beyond the tube: its width stays, until the sample comes inside.",
        ),
        unlabelled(along(20, lambda x: 0.5 * x, lambda x: 0.4 + 0.0 * x, 9), "nu-svr", C=10.0, nu=0.3),
    ),
    "usual": Scene(
        "What is usual",
        (
            "There are no labels. f = 0 encloses what is usual, and at most the share ν of the samples is outside.",
            "Raise ν: more may be left outside, and the boundary draws in.",
            "Make γ large: every sample has an island of its own; small: one round hill holds them all.",
        ),
        unlabelled([*cloud(18, (-1.3, 0.4), 0.5, 11), *cloud(18, (1.2, -0.3), 0.6, 12), (0.1, 2.2), (2.9, 1.9)],
                   "one-class", {"name": "rbf", "gamma": 0.7}, nu=0.3),
    ),
    "ball": Scene(
        "A ball",
        (
            "The smallest ball that leaves few samples outside: drag one outside further, and the ball stays.",
            "Lower ν to 0.03: nothing may be outside, and two or three samples hold the ball.",
            "Drag a sample inside the ball: its α is 0. The centre is a mixture of those that hold it.",
        ),
        unlabelled([*cloud(22, (0.3, 0.2), 0.8, 13), (2.6, 1.8), (-2.1, 1.6)], "svdd", nu=0.15),
    ),
}  # fmt: skip
