"""A machine over a Dask collection, solved where its rows are: what the members are told, and what comes back.

The members run `attempt` as a team (`member`). Here is only what does not depend on the number of rows: the outline of
the machine, the plane, the values, the gap. Machines that the one solver of teams does not take, or whose rows belong
together, are left to `solve` in this process, to which the partitions come one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.arrays.records import made
from qpsvm.attempt import Request
from qpsvm.backends import RESUMABLE, get
from qpsvm.choice import machine_traits
from qpsvm.distributed.member import Order, solve_share
from qpsvm.distributed.placing import chosen_client, place
from qpsvm.distributed.result import SpreadResult, cut, in_order
from qpsvm.distributed.run import Member
from qpsvm.distributed.spreading import spread
from qpsvm.problems import Problem
from qpsvm.problems.forms import Form
from qpsvm.problems.reading import bare
from qpsvm.problems.replaced import outlined
from qpsvm.resources.log import say, say_progress
from qpsvm.result import SVMResult
from qpsvm.samples import Samples, SpreadSamples


def is_spread(problem: Problem) -> bool:
    """Whether the samples of a problem are held by a cluster."""
    return isinstance(problem.samples, SpreadSamples) and chosen_client(problem.samples.X.collection) is not None


def on_members(problem: Problem, backend: str, form: Form | None, request: Request) -> bool:
    """Whether the workers that hold a problem's samples are to solve it; why not, where they hold them, is said."""
    if not is_spread(problem):
        return False
    why = refusal(problem, backend, form, request)
    if why is not None:
        say(f"solved in this process, to which the rows come: {why}", request.verbose)
    return why is None


def refusal(problem: Problem, backend: str, form: Form | None, request: Request) -> str | None:
    """Why the members cannot solve a problem as a team; None where they can."""
    if backend not in ("auto", RESUMABLE) or form not in (None, "dual"):
        return f"{backend} takes all rows in one process"
    if not problem.space.is_linear or problem.constraints:
        return "the kernel is not linear" if not problem.constraints else "rows of your own are not spread"
    if request.start is not None:
        return "a start has an entry for each row"
    order = outlined(problem)
    d = problem.X.shape[1]
    few = Samples(np.zeros((2, d)), np.array([-1.0, 1.0]), np.ones(2), problem.samples.classes)
    traits = machine_traits(order.over(few))
    if not get(RESUMABLE).abilities.takes(traits, problem.n, "dual"):
        return f"{type(problem).__name__} has no solver that runs on several workers"
    return None


def solve_spread(
    problem: Problem,
    request: Request,
    keep: Callable[[Mapping[str, Any]], None] | None = None,
    begun: Mapping[str, Any] | None = None,
) -> SVMResult:
    """Solve a problem on the workers that hold its rows.

    Raises ClusterError.
    """
    samples = problem.samples
    assert isinstance(samples, SpreadSamples)
    order = Order(
        outlined(problem), samples.X.d, samples.classes, samples.factors, samples.feature_names, request.tol,
        None if request.time_limit is None else request.clock.left, request.max_iter, request.options,
    )  # fmt: skip

    def heard(state: Mapping[str, Any]) -> None:
        say(_progress(state), request.verbose)
        say_progress(state["stage"], float(state["gap"]))
        if keep is not None:
            keep(state)

    placed = place(samples.X)
    members = spread(placed, solve_share, order, on_state=heard, begun=begun)
    gather = _gatherer(members, placed.lengths)
    return made(SpreadResult, **members[0].small, gather=gather, problem=bare(problem))


def _progress(state: Mapping[str, Any]) -> str:
    """A state of the solver in a line."""
    return f"on the cluster: {state['stage']}, gap {state['gap']:.1e}"


def _gatherer(members: list[Member], lengths: list[int]) -> Callable[[str], NDArray[Any] | None]:
    """What brings a vector over all rows here, by its name; None where the members have no such vector."""

    def gather(name: str) -> NDArray[Any] | None:
        pieces: list[tuple[int, NDArray[Any]]] = []
        for member in members:
            if name not in member.names:
                return None
            sizes = [lengths[number] for number in member.numbers]
            pieces += zip(member.starts, cut(member.rows(name), sizes), strict=True)
        return in_order(pieces)

    return gather


__all__ = ["is_spread", "on_members", "solve_spread"]
