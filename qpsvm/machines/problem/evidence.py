"""Attach to errors the evidence for `error.verify()`: the problem without a solution, and the weights that prove it.

(`problem.base` imports this file, so a problem is any object here; `proofs` is loaded when somebody asks for one.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import bare
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import (
    InfeasibleConstraintsError,
    InfeasibleNuError,
    MarginNotFoundError,
    NotSeparableError,
    QPSVMError,
    UndecidedConstraintsError,
)
from qpsvm.bounds.accuracy import Accuracy
from qpsvm.bounds.gap_bounds import Bounds
from qpsvm.bounds.restoration import infeasible, room_of
from qpsvm.program.svm_dual import SVMDual

#: An error about two classes: it keeps which.
HullsError = TypeVar("HullsError", NotSeparableError, MarginNotFoundError)


def _proven(what: str, *given: Any) -> Any:
    """Call a function of `proofs_of_errors`, which is imported only now."""
    from qpsvm.machines.problem import proofs_of_errors as proofs  # proofs are loaded when somebody asks for one

    return getattr(proofs, what)(*given)


def with_hulls(error: HullsError, problem: Any) -> HullsError:
    """Return the error with its proof: the weights of the samples."""
    error._evidence = partial(_proven, "hulls", bare(problem), error.u + error.v)
    return error


def without_margin(problem: Any, u: FloatArray, v: FloatArray, distance: float) -> QPSVMError:
    """Build the error for two classes without a margin: their hulls meet, or no margin was found.

    Shapes: u, v (n,).
    """
    known = _proven("meet", problem, u + v)
    if isinstance(known, Mapping):  # where other points were measured
        weights = np.array([float(known.get(number, 0)) for number in problem.rows.tolist()])
        u, v, distance = (*(np.where(problem.labels * side > 0.0, weights, 0.0) for side in (1.0, -1.0)), 0.0)
    if known:
        return with_hulls(NotSeparableError(u, v, distance), problem)
    return with_hulls(MarginNotFoundError(u, v, distance, None if known is None else True), problem)


def without_rows(error: InfeasibleConstraintsError, problem: Any) -> QPSVMError:
    """Build the error for linear constraints without a feasible point: there is none, or none was found."""
    known = _proven("kept_by_none", problem, error.weights)
    found = error if known else UndecidedConstraintsError(error.weights, error.bound, error.residual)
    found._evidence = partial(_proven, "excluded", bare(problem), error.weights)
    return found


def with_feasible_rows(problem: Any, svm: SVMDual) -> SVMDual:
    """The dual, once it is known that the linear constraints can be kept, and which of them as equalities only.

    Raises InfeasibleConstraintsError, UndecidedConstraintsError.
    """
    users = svm.users
    assert users is not None
    own = users.own.m
    rows = np.arange(own, svm.m)
    if not (svm.level[rows] >= 0.0).any():  # w = 0, b = 0 keeps them with room to spare
        return svm
    bounds = Bounds(Accuracy(problem.space), svm)
    found = room_of(svm, bounds, rows)
    if found.farkas is not None:
        raise without_rows(infeasible(svm, bounds, rows, found, problem.user_rows.scale), problem)
    if not found.equal.any():
        return svm
    return replace(svm, users=replace(users, equal=np.concatenate([np.zeros(own, dtype=bool), found.equal])))


def with_sums(error: InfeasibleNuError, problem: Any) -> InfeasibleNuError:
    """Return the error with its proof: the sums of the weights of both classes."""
    error._evidence = partial(_proven, "imbalance", error.nu, problem.samples)
    return error


def with_totals(
    error: InfeasibleNuError, sums: FloatArray, pair: tuple[int, int | None], radius: float, classes: NDArray[Any]
) -> InfeasibleNuError:
    """Return the error with its proof, given only the sums of the weights of k classes.

    Shapes: sums (k,), classes (k,).
    """
    exact, (one, other) = [Fraction(value) for value in sums.tolist()], pair
    rest = sum(exact, -exact[one]) if other is None else exact[other]
    labels = "the rest" if other is None else shown(classes.tolist()[other]), shown(classes.tolist()[one])
    error._evidence = partial(_proven, "balance", error.nu, exact[one], rest, labels, Fraction(radius))
    return error
