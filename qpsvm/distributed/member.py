"""What each member of a team runs: the machine over its own rows, the solver, and the certificate.

It is the same `attempt` as in one process. The rows say who their team is, so that whatever is added up over rows is
added up over all members. What every member then has is the same plane, the same values and the same gap; what belongs
to a row stays with its member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.constant import repeated
from qpsvm.arrays.types import FloatArray
from qpsvm.attempt import Request, attempt
from qpsvm.backends import RESUMABLE, get
from qpsvm.costs import Cost
from qpsvm.distributed.result import ROW_BY_ROW
from qpsvm.distributed.task import Chunk, Returned
from qpsvm.problems.replaced import Outline
from qpsvm.qp.solution import Status
from qpsvm.resources.clock import Clock
from qpsvm.resources.team import Team
from qpsvm.resources.threads import one_thread
from qpsvm.result import SVMResult
from qpsvm.rows.memory import ChunkRows
from qpsvm.samples import Samples, coded, weighed_by_class

#: How often the solver is asked for more where the certificate is not satisfied, and by which factor.
TRIES, SHARPER = 3, 0.03


@dataclass(frozen=True, eq=False)
class Order:
    """What the members are told to do.

    outline: The machine.
    d: Features.
    classes (2,) or None
    factors (2,) or None: Of the weights, by class.
    options: The solver's own.
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


def samples_of(chunks: Sequence[Chunk], order: Order, team: Team) -> Samples:
    """The member's own samples."""
    rows = ChunkRows([chunk.X for chunk in chunks], team, order.d)
    target = weight = repeated(1.0, rows.n)
    if chunks and chunks[0].y is not None:
        target = coded(np.concatenate([chunk.y for chunk in chunks]), order.classes)
    if chunks and chunks[0].weight is not None:
        weight = np.concatenate([chunk.weight for chunk in chunks]).astype(np.float64)
    if order.factors is not None:
        weight = weighed_by_class(weight, target, order.factors)
    return Samples(rows, target, weight, order.classes, order.feature_names)


def solve_share(team: Team, chunks: Sequence[Chunk], order: Order, begun: Mapping[str, Any] | None = None) -> Returned:
    """Solve with the other members, and certify."""
    problem = order.outline.over(samples_of(chunks, order, team))
    options = {**order.options, "keep": team.note, **({} if begun is None else {"begun": begun})}
    clock = Clock(order.time_limit)
    request = Request(order.tol, True, False, order.time_limit, order.max_iter, options, None, clock)
    with np.errstate(all="ignore"), one_thread():
        result = _certified(problem, request)
    counts = team.sum(np.bincount(result.kind, minlength=3).astype(np.float64))
    record = {name: value for name, value in vars(result).items() if name not in {*ROW_BY_ROW, "problem"}}
    record["counts"] = tuple(int(count) for count in counts)
    rows = {name: getattr(result, name) for name in ROW_BY_ROW}
    return Returned(record, {name: values for name, values in rows.items() if values is not None})


def _certified(problem: Any, request: Request) -> SVMResult:
    """The result; of a sharper solve where the first one is not satisfactory, from where that ended."""
    backend, nothing = get(RESUMABLE), Cost(0.0, 0.0, 0.0)
    best = attempt(problem, backend, "dual", nothing, request)
    aim = request.tol
    for _ in range(TRIES):
        if best.status is not Status.INACCURATE or request.max_iter is not None:
            break
        aim *= SHARPER
        options = {name: value for name, value in request.options.items() if name != "begun"}
        sharper = replace(request, aim=aim, options=options, start=problem.start(best.alpha))
        again = attempt(problem, backend, "dual", nothing, sharper)
        if again.gap < best.gap:
            best = again
    return best


__all__ = ["Order", "samples_of", "solve_share"]
