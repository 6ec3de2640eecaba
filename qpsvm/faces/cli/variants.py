"""The machines under the words of the command line: what each learns from, and which options are its own."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Literal

from qpsvm.base.errors import ParameterError
from qpsvm.data.files import Target
from qpsvm.machines import Problem, registry
from qpsvm.space.kernels.functions import FUNCTIONS, KERNELS, Kernel

#: What a machine makes of the target: two classes, a number for each row, an order of the rows, or nothing.
Learnt = Literal["labels", "numbers", "ranks", "none"]


@dataclass(frozen=True)
class Variant:
    """A machine of the command line.

    learnt: What it learns from a row beside its features.
    own: Its parameters, which are options and arguments of the class.
    kernel: Its kernel where none is asked for.
    """

    machine: type[Problem]
    learnt: Learnt
    own: tuple[str, ...]
    kernel: str = "linear"

    @property
    def target(self) -> Target:
        """How the target of a file is read for it."""
        return "numbers" if self.learnt == "ranks" else self.learnt


def _variant(kind: type[Problem]) -> Variant:
    return Variant(kind, kind.learns, registry.options(kind), registry.usual_kernel(kind))


VARIANTS = {word: _variant(registry.machine(word)) for word in registry.FILES}


def takers(parameter: str) -> tuple[str, ...]:
    """The variants that have a parameter."""
    return tuple(word for word, variant in VARIANTS.items() if parameter in variant.own)


def problem_of(
    X: Any, y: Any, options: argparse.Namespace, groups: Any = None, weights: Any = None, class_weight: Any = None
) -> Problem:
    """The problem that the options describe, over samples X (n, d) with target y, groups of a ranking and weights.

    Raises ParameterError.
    """
    kernel = _kernel(options)
    if options.psd is not None and kernel.is_psd:
        raise ParameterError(
            f"--psd is for an indefinite kernel, and {kernel} is positive semidefinite by construction: leave it out"
        )
    variant = VARIANTS[options.variant]
    own = {name: getattr(options, name) for name in variant.own}
    if own.get("intercept") == "none":
        own["intercept"] = None
    if variant.learnt == "ranks":
        own["groups"] = groups
    samples = (X,) if variant.learnt == "none" else (X, y)
    machine: Any = variant.machine
    if weights is not None:
        own["sample_weight"] = weights
    if class_weight is not None:
        own["class_weight"] = class_weight
    problem: Problem = machine(*samples, **own, kernel=kernel, psd=options.psd or "raise")
    return problem


def _kernel(options: argparse.Namespace) -> Kernel:
    try:
        gamma: Any = float(options.gamma)
    except ValueError:
        gamma = options.gamma
    given = {"degree": options.degree, "gamma": gamma, "coef0": options.coef0}
    return KERNELS[options.kernel](**{name: given[name] for name in FUNCTIONS[options.kernel]})
