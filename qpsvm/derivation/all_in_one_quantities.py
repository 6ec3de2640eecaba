"""The letters of a machine that learns several classes in one program, with their values at a result.

Everything is measured again from α and the decision functions of the result; of what it claims only the objective
values are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from qpsvm.base.arrays.types import FloatArray, IntArray
from qpsvm.derivation.headline import SAME, explained, failed
from qpsvm.derivation.step import Measurement
from qpsvm.derivation.terms import size_of
from qpsvm.machines.problem.all_in_one import JointProblem
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.solution import Status
from qpsvm.result.all_in_one_result import JointResult
from qpsvm.space.kernels.functions import Precomputed


class AllInOneQuantities:
    """α, β, w, b, ξ, … over the n samples of positive weight and k classes.

    result: Of this problem.
    """

    def __init__(self, problem: JointProblem, result: JointResult) -> None:
        self.problem, self.result = problem, result

    @property
    def dual(self) -> AllInOneDual:
        """The dual of the problem."""
        return self.problem.joint

    @property
    def label(self) -> IntArray:
        """y: (n,)."""
        return self.dual.label

    @property
    def C(self) -> FloatArray:
        """C_i: (n,)."""
        return self.dual.upper

    @cached_property
    def alpha(self) -> FloatArray:
        """α: (n, k)."""
        taking: FloatArray = self.problem.samples.taking_part(self.result.alpha)
        return taking

    @cached_property
    def beta(self) -> FloatArray:
        """β: (n, k)."""
        return self.dual.beta(self.alpha)

    @cached_property
    def net(self) -> FloatArray:
        """Σ_i β_ic of every class: (k,)."""
        return np.asarray(self.beta.sum(axis=0))

    @cached_property
    def X(self) -> Any:
        """The samples as the decision functions take them."""
        X = self.problem.X
        if self.problem.samples.takes_all:
            return X
        return X[self.problem.rows]

    def changed(self, **letters: Any) -> Self:
        """The point with other letters, and the same slacks."""
        other = copy(self)
        other.__dict__ |= {"xi": self.xi, "squares": self.squares} | letters
        other.__dict__.pop("missing", None)
        return other

    def halved(self) -> Self:
        """The point with half of w and b."""
        return self.changed(f=0.5 * self.f, squares=0.25 * self.squares, b=0.5 * self.b, net=0.5 * self.net)

    def turned(self) -> Self:
        """The point with what α leaves of its bound in its place, shared among the rivals where they share it."""
        left = self.C[:, None] - (self.used if self.dual.shared else self.alpha)
        return self.changed(alpha=np.where(self.dual.own, 0.0, left / (self.dual.k - 1 if self.dual.shared else 1)))

    @cached_property
    def b(self) -> FloatArray:
        """The intercepts as the result has them: (k,)."""
        return self.result.b

    @cached_property
    def f(self) -> FloatArray:
        """f_c(x_i) by the result's decision functions, plus σ β where the kernel is K + σI: (n, k)."""
        return self.result.decision_function(self.X) + self.problem.space.shift * self.beta

    @cached_property
    def of_alpha(self) -> FloatArray:
        """Σ_j β_jc K(x_j, x_i), from α alone: (n, k)."""
        if self.is_linear:
            found: FloatArray = self.X @ (self.X.T @ self.beta)
            return found
        return np.asarray(self.problem.space.gram @ self.beta)

    @cached_property
    def absorbed(self) -> bool:
        """Whether a penalised intercept is part of the Gram matrix."""
        return self.problem.intercept == "penalised" and self.dual.intercept is None

    @cached_property
    def values_of_alpha(self) -> FloatArray:
        """`of_alpha` with the intercepts: what f is when it is recovered from α, (n, k)."""
        return self.of_alpha if self.absorbed else self.of_alpha + self.b

    @property
    def is_linear(self) -> bool:
        """Whether w has entries."""
        return self.problem.space.is_linear

    @cached_property
    def half_norm(self) -> float:
        """½Σ‖w_c‖², with ½Σb_c² of a penalised intercept."""
        if self.is_linear:
            half = 0.5 * float((self.result.w**2).sum())
        else:
            half = 0.5 * float((self.beta * self.of_alpha).sum())
        return half + (0.5 * float(self.b @ self.b) if self.dual.intercept == "penalised" else 0.0)

    @cached_property
    def half_norm_of_alpha(self) -> float:
        """The same of w(α)."""
        half = 0.5 * float((self.beta * self.of_alpha).sum())
        return half + (0.5 * float(self.net @ self.net) if self.dual.intercept == "penalised" else 0.0)

    @cached_property
    def squares_of_alpha(self) -> FloatArray:
        """β_cᵀKβ_c: (k,)."""
        return np.asarray((self.beta * self.of_alpha).sum(axis=0)) - self.absorbed * self.net**2

    @cached_property
    def squares(self) -> FloatArray:
        """‖w_c‖², (k,)."""
        return np.asarray((self.result.w**2).sum(axis=1)) if self.is_linear else self.squares_of_alpha

    @property
    def squares_of_difference(self) -> FloatArray:
        """‖w_c − w_c(α)‖²: (k,)."""
        b = self.net if self.absorbed else self.b
        return np.asarray(self.squares - 2.0 * (self.beta * (self.f - b)).sum(axis=0) + self.squares_of_alpha)

    @property
    def square_of_v(self) -> float:
        """‖w_2 − w_1‖² of two classes."""
        if self.is_linear:
            return float(np.square(self.result.w[1] - self.result.w[0]).sum())
        apart, net = self.beta[:, 1] - self.beta[:, 0], self.net[1] - self.net[0]
        return float(apart @ (self.of_alpha[:, 1] - self.of_alpha[:, 0])) - float(self.absorbed * net**2)

    @property
    def qp_value(self) -> float:
        """Minus the objective of the dual QP at α."""
        return float(-self.problem.qp("dual").objective(self.dual.flat(self.alpha)))

    @property
    def size_of_w(self) -> float:
        """What differences of w are relative to."""
        X = self.X
        largest = float(np.sqrt(abs(X).power(2).sum() if hasattr(X, "power") else np.square(X).sum()))
        return size_of(self.result.w.ravel(), largest * self.terms)

    @property
    def level(self) -> float:
        """What f of the own class is to be above that of a rival."""
        return float(self.dual.level)

    def name(self, place: str, i: int, count: int) -> str:
        """Entry i of so many: of a row, of a sample, or of a class."""
        rows = not place and count == len(self.dual.places)
        classes = place == "class" or (count == self.dual.k and not rows and not place)
        return self.row(i) if rows else f"class {self.problem.classes.tolist()[i]!r}" if classes else f"place {i}"

    @cached_property
    def missing(self) -> FloatArray:
        """t: (n, k)."""
        return self.dual.missing(self.f)

    @cached_property
    def xi(self) -> FloatArray:
        """The slack of every row, the same for all rivals of a sample where they share it: (n, k)."""
        short = np.maximum(self.missing, 0.0)
        if self.dual.shared:
            short = np.broadcast_to(short.max(axis=1)[:, None], short.shape)
        return np.where(self.dual.own, 0.0, short)

    @cached_property
    def used(self) -> FloatArray:
        """What α uses of the price of a slack: Σ_c α_ic in each row of a sample that shares it, else α_ic: (n, k)."""
        if not self.dual.shared:
            return self.alpha
        return np.where(self.dual.own, 0.0, self.alpha.sum(axis=1)[:, None])

    @cached_property
    def cost(self) -> float:
        """Σ C ξ."""
        return float(self.dual.losses(self.missing).sum())

    @property
    def primal(self) -> float:
        """P."""
        return self.half_norm + self.cost

    @property
    def dual_value(self) -> float:
        """D."""
        return self.dual.level * float(self.alpha.sum()) - self.half_norm_of_alpha

    @property
    def size(self) -> float:
        """What values are relative to."""
        return max(abs(self.primal), abs(self.dual_value))

    @cached_property
    def reach(self) -> float:
        """What α is relative to."""
        return float(self.alpha.max()) or float(self.C.max())

    @cached_property
    def terms(self) -> float:
        """Σα, what sums of β are relative to."""
        return float(self.alpha.sum()) or float(self.C.sum())

    @cached_property
    def size_of_f(self) -> float:
        """What values of f are relative to."""
        return max(float(np.abs(self.f).max()), self.dual.level)

    def row(self, place: int) -> str:
        """The name of a row (i, c), by its place among all rows."""
        sample, rival = np.divmod(self.dual.places[place], self.dual.k)
        return f"sample {self.problem.rows[sample]} and the rival {self.problem.classes.tolist()[rival]!r}"


def all_in_one_headline(at: AllInOneQuantities, measured: Mapping[str, Measurement]) -> tuple[str, bool]:
    """What the residuals at a result are worth, and whether it is an optimum of the problem."""
    result = at.result
    claimed = at.problem.samples.taking_part(result.missing)
    precomputed = isinstance(at.problem.kernel, Precomputed)
    off = float(np.abs(at.missing - claimed).max()) / at.size_of_f
    if off > SAME and not precomputed:
        return (
            "NOT OF THIS PROBLEM: at the problem's samples the decision functions of the result differ from its "
            f"margins by {off:.1e}, relative. The residuals show what it violates"
        ), False
    against = failed(measured, result.gap)
    if result.status is not Status.OPTIMAL:
        return (
            f"NOT OPTIMAL: status {result.status}, certified relative gap {result.gap:.1e}; the residuals are those of "
            "the best point so far"
        ), False
    if against:
        return (
            f"NOT AN OPTIMUM: the result says {result.status} with a relative gap of {result.gap:.1e}, but {against}: "
            "it was changed, or is that of another problem"
        ), False
    return f"optimal, certified relative gap {explained(result.gap)}", True
