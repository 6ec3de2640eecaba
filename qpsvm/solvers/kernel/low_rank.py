"""Few features: a Gram matrix of low rank, and the linear machine over the rows of its factor.

Over few features K has as many eigenvalues worth a name as the features allow smooth functions, some hundreds, however
many rows there are. Newton steps on free rows then meet singular matrices, and the certificate of an α takes all kernel
values between samples and support vectors. With K = LLᵀ + E of (PIVOT.1)

    (LOWRANK.1)  minimise ½‖v‖² + Σ C_i max(0, 1 − y_i(L_iᵀv + b)):  the linear machine over the rows of L
    (LOWRANK.2)  w = Σ_j c_j φ(z_j) over the r pivots z, with L_zᵀc = v:  a point of the machine over K itself, because
                 E = 0 in the pivots' columns;  ‖w‖ = ‖v‖ and f = Lv + b
    (LOWRANK.3)  βᵀKβ ≤ ‖Lᵀβ‖² + S²,  S = Σ|β_i|√e_i,  for E is positive semidefinite:  so w and α have a gap of at most
                 that of (LOWRANK.1) plus ½S²

The linear solver is given by whoever calls: families of solvers do not know each other. `dual.spanned` certifies
(LOWRANK.3) with all rounding, from the kernel values of the pivots alone.

Source: Fine & Scheinberg, *Efficient SVM training using low-rank kernel representations*, JMLR 2 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.resources.limits import available_memory
from qpsvm.solvers.kernel.dual import DualPoint, KernelDual
from qpsvm.solvers.kernel.effort import Effort
from qpsvm.solvers.shared.stopping import StopReason
from qpsvm.space.kernels.blocks import KernelBlocks
from qpsvm.space.kernels.functions import RBF, Polynomial
from qpsvm.space.kernels.pivoted_cholesky import PivotedFactor, pivoted_factor


@dataclass(frozen=True)
class Settings:
    """Constants of the engine."""

    #: Most columns of the factor, and most for each row: beyond, the other engines are as fast.
    most: int = 1200
    most_a_row: float = 0.25
    #: Most columns where nothing else is asked for.
    most_named: int = 4000
    #: Shares of the tolerance: for ½S², and for the linear machine.
    rest_share: float = 0.1
    linear_share: float = 0.6
    #: Rows of the probe, fewest rows for it to say something, and its columns for each that the whole is estimated to
    #: take: rows that are far out come with more rows.
    probe_rows: int = 1000
    fewest_rows: int = 400
    probe_share: float = 0.5
    #: Prices of (PIVOT.4) of rows that are estimated to have no α, as a share of C.
    least_price: float = 0.02
    #: A gap up to so many tolerances is due to rounding, or to an estimated Σα that was wrong.
    near: float = 30.0
    #: Share of the memory that is there for the factor and what it is made from.
    memory: float = 0.5


SETTINGS = Settings()


class LinearAnswer(Protocol):
    """What a linear solver returns."""

    @property
    def w(self) -> FloatArray:
        """(r,)."""

    @property
    def b(self) -> float:
        """The intercept."""

    @property
    def alpha(self) -> FloatArray:
        """(n,)."""

    @property
    def iterations(self) -> int:
        """Steps."""

    @property
    def reason(self) -> StopReason:
        """Why it ended."""


#: Solves (LOWRANK.1) for L (n, r), y (n,), C (n,), a relative gap, seconds or None, and whether to print.
LinearSolver = Callable[[FloatArray, FloatArray, FloatArray, float, float | None, bool], LinearAnswer]


@dataclass(frozen=True, eq=False)
class LowRankPoint:
    """A point with its coefficients c (n,), which are not 0 in the pivots only."""

    point: DualPoint
    coef: FloatArray


def stalled_prices(
    blocks: KernelBlocks, problem: KernelDual, tol: float, best: DualPoint, effort: Effort
) -> FloatArray | None:
    """Prices for `low_rank_point`, (n,), where the best point of the others has more free rows than the rank."""
    alpha = np.abs(best.beta)
    prices = alpha + SETTINGS.least_price * problem.weight
    rank = _estimated_rank(blocks, problem, tol, prices, effort)
    free = int(np.count_nonzero((alpha > 0.0) & (alpha < problem.weight)))
    return prices if rank is not None and rank < free else None


def _estimated_rank(
    blocks: KernelBlocks, problem: KernelDual, tol: float, prices: FloatArray, effort: Effort
) -> int | None:
    """Columns that the factor will take, estimated from some of the rows; None where too many, or nothing is known."""
    n = blocks.n
    if n < SETTINGS.fewest_rows or not able(blocks):
        return None
    rows = np.sort(np.random.default_rng(0).permutation(n)[: SETTINGS.probe_rows])
    most = int(SETTINGS.probe_share * most_columns(n))
    factor = pivoted_factor(blocks, rows, prices[rows], _target(problem, tol, prices), most, effort.late)
    return None if factor is None or not factor.reached else int(factor.rank / SETTINGS.probe_share)


def able(blocks: KernelBlocks) -> bool:
    """Whether K is that of a kernel whose matrices can have a low rank, of samples."""
    return isinstance(blocks.kernel, (RBF, Polynomial)) and blocks.X.shape[0] == blocks.n


def most_columns(n: int, named: bool = False) -> int:
    """Columns that a factor of n rows may have: more where this engine was asked for by its name."""
    most = min(SETTINGS.most_named, n) if named else min(SETTINGS.most, SETTINGS.most_a_row * n)
    return int(min(most, SETTINGS.memory * available_memory() / (16.0 * n)))


def _target(problem: KernelDual, tol: float, prices: FloatArray) -> float:
    """The target of (PIVOT.4) for a relative gap: Σα is what the prices say, or what the lighter class allows.

    D ≥ ½Σα at an optimum, so that ½S² ≤ share·tol·D where the left side of (PIVOT.4) is at most share·tol/Σα.
    """
    plus = problem.level > 0
    largest = 2.0 * min(float(problem.weight[plus].sum()), float(problem.weight[~plus].sum()))
    return SETTINGS.rest_share * tol / min(largest, float(prices.sum()))


def low_rank_point(
    blocks: KernelBlocks,
    problem: KernelDual,
    tol: float,
    prices: FloatArray,
    linear: LinearSolver,
    effort: Effort,
    named: bool = False,
) -> LowRankPoint | None:
    """The point of (LOWRANK.2); None where the rank is too high, or time runs out before there is one.

    Shapes: prices (n,).
    """
    n, target = problem.n, _target(problem, tol, prices)
    factor = pivoted_factor(blocks, np.arange(n), prices, target, most_columns(n, named), effort.late)
    if factor is None or not factor.reached or effort.late():
        return None
    effort.report("factor", factor.rank, np.inf)
    seconds = None if effort.seconds is None else max(effort.clock.left, 0.0)
    answer = linear(factor.L, problem.level, problem.weight, SETTINGS.linear_share * tol, seconds, effort.verbose)
    effort.newton_steps += answer.iterations
    found = _measured(problem, factor, answer)
    if found is not None:
        effort.report("low rank", factor.rank, found.point.gap)
    return found


def _measured(problem: KernelDual, factor: PivotedFactor, answer: LinearAnswer) -> LowRankPoint | None:
    """(LOWRANK.2) with the gap of (LOWRANK.3); None where that is no number."""
    L, v = factor.L, answer.w
    beta = problem.balanced(problem.level * answer.alpha)
    own = L.T @ beta
    u = L @ v
    lost = float(np.abs(beta) @ np.sqrt(factor.rest))
    point = problem.point(beta, u)  # its gap is not this one: u is not Kβ
    slack, alpha = problem.level * point.gradient, np.abs(beta)
    inside = np.maximum(slack, 0.0)
    terms = float((problem.weight - alpha) @ inside + alpha @ (inside - slack))
    primal = 0.5 * float(v @ v) + float(problem.weight @ inside)
    difference = terms + 0.5 * float((v - own) @ (v - own)) + 0.5 * lost * lost
    coef = np.zeros(problem.n)
    coef[factor.pivots] = solve_triangular(L[factor.pivots], v, lower=True, trans=1, check_finite=False)
    if not (np.isfinite(coef).all() and np.isfinite(difference) and primal > 0.0):
        return None
    return LowRankPoint(replace(point, gap=difference / primal, scale=primal), coef)
