"""What each member of a team runs: the machine over its own rows, the solver, and the certificate.

It is the same `attempt` as in one process. The rows say who their team is, so that whatever is added up over rows is
added up over all members. What every member then has is the same plane, the same values and the same gap; what belongs
to a row stays with its member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray
from qpsvm.attempt import Request, attempt
from qpsvm.backends import get
from qpsvm.costs import Cost
from qpsvm.distributed.result import ROW_BY_ROW
from qpsvm.problems.replaced import Outline
from qpsvm.qp.solution import Status
from qpsvm.resources.clock import Clock
from qpsvm.resources.team import Team
from qpsvm.resources.threads import one_thread
from qpsvm.result import SVMResult
from qpsvm.rows.memory import ChunkRows
from qpsvm.samples import Samples, coded, weighed_by_class

#: The one backend that runs on a team.
BACKEND = "augmented_lagrangian"
#: How often the solver is asked for more where the certificate is not satisfied, and by which factor.
TRIES, SHARPER = 3, 0.03


@dataclass(frozen=True, eq=False)
class Chunk:
    """One partition, where it is: its first row in the caller's order, features (k, d), targets and weights (k,)."""

    start: int
    X: Any
    target: NDArray[Any] | None
    weight: FloatArray | None


@dataclass(frozen=True, eq=False)
class Order:
    """What the members are told to do.

    Attributes
    ----------
    outline : Outline
        The machine.
    d : int
        Features.
    classes : ndarray, shape (2,), or None
    factors : ndarray, shape (2,), or None
        Of the weights, by class.
    feature_names : tuple of str, or None
    tol : float
    time_limit : float or None
    max_iter : int or None
    options : dict
        The solver's own.
    """

    outline: Outline
    d: int
    classes: NDArray[Any] | None
    factors: FloatArray | None
    feature_names: tuple[str, ...] | None
    tol: float
    time_limit: float | None
    max_iter: int | None
    options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Share:
    """What a member has found: the numbers that all have, and what its own rows have, by the first row of each chunk.

    Attributes
    ----------
    record : dict
        The parts of an `SVMResult` that are no vectors over rows.
    rows : dict of str to list of (int, ndarray)
    """

    record: dict[str, Any]
    rows: dict[str, list[tuple[int, NDArray[Any]]]]


def samples_of(chunks: Sequence[Chunk], order: Order, team: Team) -> Samples:
    """The member's own samples."""
    rows = ChunkRows([chunk.X for chunk in chunks], team, order.d)
    if any(chunk.target is None for chunk in chunks) or not chunks:
        target = repeated(1.0, rows.n)
    else:
        target = coded(np.concatenate([chunk.target for chunk in chunks if chunk.target is not None]), order.classes)
    weight: FloatArray = repeated(1.0, rows.n)
    if chunks and all(chunk.weight is not None for chunk in chunks):
        weight = np.concatenate([chunk.weight for chunk in chunks if chunk.weight is not None]).astype(np.float64)
    if order.factors is not None:
        weight = weighed_by_class(weight, target, order.factors)
    return Samples(rows, target, weight, order.classes, order.feature_names)


def solve_share(
    team: Team,
    chunks: Sequence[Chunk],
    order: Order,
    keep: Callable[[Any], None] | None = None,
    begun: Any = None,
) -> Share:
    """Solve with the other members, and certify.

    Parameters
    ----------
    team : Team
    chunks : sequence of Chunk
        This member's; there may be none.
    order : Order
        The same for all.
    keep : callable, optional
        Called with the solver's state now and then.
    begun : State, optional
        To go on from.
    """
    problem = order.outline.over(samples_of(chunks, order, team))
    options = dict(order.options)
    if keep is not None:
        options["keep"] = keep
    if begun is not None:
        options["begun"] = begun
    request = Request(order.tol, False, False, order.time_limit, order.max_iter, options, None, Clock(order.time_limit))
    with np.errstate(all="ignore"), one_thread():
        result = _certified(problem, request)
    kind = np.bincount(result.kind, minlength=3)
    counts = tuple(int(count) for count in team.sum(kind.astype(np.float64)))
    record = {name: value for name, value in vars(result).items() if name not in ROW_BY_ROW} | {"counts": counts}
    lengths = [chunk.X.shape[0] for chunk in chunks]
    starts = [chunk.start for chunk in chunks]
    rows = {name: _cut(getattr(result, name), starts, lengths) for name in ROW_BY_ROW}
    return Share(record, rows)


def _certified(problem: Any, request: Request) -> SVMResult:
    """The result; of a sharper solve where the first one is not satisfactory, from where that ended."""
    backend, nothing = get(BACKEND), Cost(0.0, 0.0, 0.0)
    best = attempt(problem, backend, "dual", nothing, request)
    tol = request.tol
    for _ in range(TRIES):
        if best.status is not Status.INACCURATE or request.max_iter is not None:
            break
        tol *= SHARPER
        options = {name: value for name, value in request.options.items() if name != "begun"}
        again = attempt(problem, backend, "dual", nothing, replace(request, tol=tol, options=options, start=best.alpha))
        if again.gap < best.gap:
            best = again
        if best.gap <= request.tol:
            best = replace(best, status=Status.OPTIMAL, message="")
    return best


def _cut(values: NDArray[Any] | None, starts: list[int], lengths: list[int]) -> list[tuple[int, NDArray[Any]]]:
    """A vector over the rows, or one with several entries for each, cut into those of the chunks."""
    if values is None:
        return []
    n = sum(lengths)
    sides = len(values) // n if n else 1
    halves = values.reshape(sides, n)
    ends = np.cumsum([0, *lengths])
    return [(start, halves[:, a:b].ravel()) for start, a, b in zip(starts, ends[:-1], ends[1:], strict=True)]


__all__ = ["Chunk", "Order", "Share", "samples_of", "solve_share"]
