"""A machine without data: its class and its options are enough for its equations, which are in symbols only.

An equation is made for a problem, so that a class gets one over four samples that nobody sees: nothing is measured.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import ParameterTypeError, UnknownOptionError, UnsupportedError, nearest
from qpsvm.machines import JointProblem, Problem
from qpsvm.machines.problem.constraints import Constraints
from qpsvm.space.kernels.functions import Precomputed, as_kernel

#: Four samples on which every machine can be made, and what is learnt of them.
POINTS = np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
TARGETS = {"labels": [0, 1, 0, 1], "numbers": [0.0, 1.0, 2.0, 0.5], "ranks": [0, 2, 1, 3]}
#: What has an entry a sample or a label, so that there is none without data.
OF_DATA = ("X", "y", "t", "sample_weight", "groups", "pairs")


def stand_in(kind: type[Problem] | type[JointProblem], options: Mapping[str, Any]) -> Problem | JointProblem:
    """A problem of a class, for its equations.

    Raises UnknownOptionError, ParameterTypeError, UnsupportedError; and what the class says of an option.
    """
    if inspect.isabstract(kind) or kind in (Problem, JointProblem):
        raise UnsupportedError(f"{kind.__name__} is no machine: derive takes a class such as CSVM, or a problem")
    taken = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", *OF_DATA)]
    given = dict(options)
    for name, value in given.items():
        if name in OF_DATA:
            raise ParameterTypeError(
                f"{name} is of samples, and derive({kind.__name__}) has none: derive({kind.__name__}(X, …)) has them"
            )
        if name not in taken:
            raise UnknownOptionError(f"{kind.__name__} has no option {name!r}; {nearest(name, taken)}")
        if name != "constraints" and (np.ndim(value) or isinstance(value, dict)):
            raise ParameterTypeError(
                f"without data {name} is one value, got {shown(value)}: entries belong to samples or labels"
            )
    X = POINTS
    if given.get("constraints") is True:
        given["constraints"] = Constraints([[1.0, 0.0]], 1.0)
    elif given.get("constraints"):
        rows = given["constraints"]
        points = getattr(rows[0] if isinstance(rows, (list, tuple)) else rows, "points", POINTS)
        X = np.resize(POINTS, (len(POINTS), points.shape[1])) + np.eye(len(POINTS), points.shape[1])
    if "kernel" in given and isinstance(as_kernel(given["kernel"]), Precomputed):
        X = POINTS @ POINTS.T + np.eye(len(POINTS))
    if issubclass(kind, JointProblem):
        return kind(X, [0, 1, 2, 0], **given)
    return kind(*((X,) if kind.learns == "none" else (X, TARGETS[kind.learns])), **given)


def kernel_in_words(problem: Problem | JointProblem, options: Mapping[str, Any]) -> str:
    """The kernel as it was asked for: a γ that is made of samples has no value."""
    as_made, asked = str(problem.kernel), options.get("kernel")
    return as_made if asked is None or str(asked) == as_made else type(problem.kernel).__name__


def title_of_class(problem: Problem | JointProblem, options: Mapping[str, Any]) -> str:
    """The machine with the options that were given."""
    own = [f"{name} = {shown(value)}" for name, value in options.items() if name not in ("kernel", "constraints")]
    rows = ["with constraints"] if options.get("constraints") else []
    kernel = f"kernel {kernel_in_words(problem, options)}"
    return ", ".join([problem.title.split(", ")[0], *own, *rows, kernel])
