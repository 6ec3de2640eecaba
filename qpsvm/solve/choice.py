"""Which backend `auto` takes: by what each can do, and by what it will cost.

The choice is among the installed backends that take a problem's traits and are not there for study. The cheapest by its
own estimate comes first. The others follow, the cheaper ones first: they take over where a backend cannot keep the
limits asked for, or where the certificate says no. The constants of the estimates are medians of measurements, and only
their ratios matter. Where the estimates do not say what is best, a `Place` does, with the reason.

For linear machines the first is the cheapest of `augmented_lagrangian` (passes over the samples), `interior_point`
(factorisations of d × d), `kernel_newton` and `cvxopt` (the Gram matrix). With a kernel it is `kernel_newton`, or
`libsvm` for a ν-SVM; the methods that factor the Gram matrix follow.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from qpsvm import backends
from qpsvm.backends.abilities import Traits, traits_of
from qpsvm.backends.base import Backend
from qpsvm.machines import Problem
from qpsvm.machines.problem.forms import Form
from qpsvm.program.costs import FEW_ROWS, Cost, Size
from qpsvm.space.kernels.feature_map import FeatureMap

#: Numbers in X up to which the mean of ‖x_i‖² is asked for: where there are more, the first choice does not need it.
MOST_REACHED = 1_000_000
#: Rows up to which exact methods take the dense dual.
DENSE_ROWS = 4000
#: All followers together may take so many times as long as the first choice; that counts as at least so many seconds.
FOLLOWERS, FLOOR = 3.0, 1.0


@dataclass(frozen=True)
class Choice:
    """A backend, the form it is wanted in (None: the one it prefers), and the estimate, where there is one.

    The estimate counts no imports; `cost` does, those that are still to be made.
    """

    backend: str
    form: Form | None = None
    estimate: Cost | None = None

    @cached_property
    def chosen(self) -> Backend:
        """The backend itself."""
        return backends.get(self.backend)

    @property
    def cost(self) -> Cost | None:
        """The estimate, with what is still to be imported."""
        return None if self.estimate is None else self.chosen.imported(self.estimate)

    @property
    def seconds(self) -> float:
        """The estimate; 0 where there is none."""
        return 0.0 if self.estimate is None else self.estimate.seconds

    def __str__(self) -> str:
        form = "" if self.form is None else f" on the {self.form} form"
        cost = "" if self.cost is None else f" (about {self.cost.seconds:.2g} s)"
        return f"{self.backend}{form}{cost}"


@dataclass(frozen=True)
class Place:
    """What `auto` is told of a backend, beside its estimate.

    form: The form to take it in, where that is not the one it prefers.
    least, most: Rows from which and up to which it is taken.
    order: Its turn: by its estimate; in the order of the list, whatever those listed cost; or after all others.
    unless: It gets no turn where this other backend takes the problem.
    """

    backend: str
    form: Form | None = None
    least: float = 0.0
    most: float = float("inf")
    order: str = "estimate"
    unless: str = ""


#: Linear machines.
LINEAR = (
    # Beyond so many rows the others need no n × n matrix, and are done before it is made.
    Place("cvxopt", "dual", most=DENSE_ROWS),
    # Its estimate does not count what modelling costs where there are many features; it is the second opinion.
    Place("cvxpy", order="last"),
    # First-order methods, and loops over single α: where C is large they take a thousand times their estimate.
    Place("osqp", most=0.0),
    Place("libsvm", most=0.0),
    Place("liblinear", most=0.0),
)
#: Machines with another kernel.
KERNEL = (
    # kernel_newton begins with the same loop, and finishes.
    Place("libsvm", unless="kernel_newton"),
    # Exact, and independent of the first choice; the primal is dearer, but ends well where the dual is degenerate.
    Place("cvxopt", "dual", most=DENSE_ROWS, order="listed"),
    Place("cvxopt", "primal", most=DENSE_ROWS, order="listed"),
    # As good, but of the same house; of many rows it comes first, because it can be stopped.
    Place("interior_point", order="listed"),
    Place("cvxpy", most=DENSE_ROWS, order="last"),
    Place("osqp", least=DENSE_ROWS + 1, order="last"),
)

#: Machines with another kernel whose rows are combinations of samples, as pairs are: there may be many times as many.
COMBINED = (
    # In the coordinates of the samples, n × n, rows cost no more than samples of a linear machine.
    Place("interior_point", "primal"),
    Place("cvxopt", "dual", most=DENSE_ROWS, order="listed"),
    Place("cvxopt", "primal", most=DENSE_ROWS, order="listed"),
    Place("cvxpy", "primal", most=DENSE_ROWS, order="last"),
    Place("osqp", "primal", order="last"),
)

#: The backends of this library.
OURS = tuple(backends.REGISTRY)
#: Which of these a machine has.
Which = Literal["linear", "kernel", "combined"]
PLACES: dict[Which, tuple[Place, ...]] = {"linear": LINEAR, "kernel": KERNEL, "combined": COMBINED}


def choices(problem: Problem) -> Iterator[Choice]:
    """The installed backends that take a problem, the first choice first; each is looked at when it is asked for."""
    size, traits = size_of(problem), machine_traits(problem)
    which: Which = "linear" if size.linear else "combined" if size.samples else "kernel"
    told = (which, traits, _coarse(size))
    names = (*backends.REGISTRY, *(name for name in backends.OUTSIDE if name in backends.FOR_AUTO))
    order = _kept_order(*told) if names == OURS else _order(*told, names)  # theirs may say anything
    return (choice for choice in order if choice.chosen.version() is not None)


def _order(which: Which, traits: Traits, size: Size, names: tuple[str, ...] = OURS) -> tuple[Choice, ...]:
    """What takes a machine, in order, of the backends of these names, installed or not."""
    places = PLACES[which]
    given = {place.backend for place in places}
    by_order = {order: [p for p in places if p.order == order] for order in ("estimate", "listed", "last")}
    by_order["estimate"] += [Place(name) for name in names if name not in given]
    ranked, listed, last = (
        [choice for place in by_order[order] if (choice := _choice(place, names, traits, size)) is not None]
        for order in by_order
    )
    return (*_woven(sorted(ranked, key=lambda choice: choice.seconds), listed), *last)


#: `_order` of our own backends, whose estimates stay the same.
_kept_order = lru_cache(maxsize=1024)(_order)


def _coarse(size: Size) -> Size:
    """The size with what is of data, and of no shape, in whole powers of 2: estimates are no better than that."""
    reach, stakes = (
        math.ldexp(1.0, round(math.log2(value))) if 0.0 < value < math.inf else value
        for value in (size.reach, size.stakes)
    )
    return size._replace(reach=reach, stakes=stakes)


def _choice(place: Place, names: tuple[str, ...], traits: Traits, size: Size) -> Choice | None:
    """The turn of a backend at its place, or None where it does not get one."""
    if place.backend not in names or not place.least <= size.rows <= place.most:
        return None
    backend = backends.get(place.backend)
    can, form = backend.abilities, place.form or backend.preferred_form(size.linear)
    if can.study or not can.takes(traits, size.rows, form):
        return None
    if place.unless in backends.REGISTRY and backends.get(place.unless).abilities.takes(traits, size.rows, "dual"):
        return None
    return Choice(place.backend, place.form, backend.estimate(size, form))


def _woven(ranked: Iterable[Choice], listed: Iterable[Choice]) -> Iterator[Choice]:
    """The two sequences merged: a ranked choice comes before the first listed one that costs more."""
    waiting = deque(ranked)
    for choice in listed:
        while waiting and waiting[0].seconds <= choice.seconds:
            yield waiting.popleft()
        yield choice
    yield from waiting


def size_of(problem: Problem) -> Size:
    """What the cost of a problem follows from."""
    linear, mapped, svm = problem.space.is_linear, isinstance(problem.kernel, FeatureMap), problem.outlined
    X = problem.space.samples if mapped else problem.samples
    n, sparse, entries, samples = len(problem.labels), X.is_sparse, X.entries, 0
    every, d = problem.space.samples.shape if mapped else problem.X.shape
    if svm.mix is not None:  # a row has the entries of all its samples
        n, samples = svm.mix.shape
        entries = round(entries / every * svm.mix.nnz) if sparse else n * d
    reach = _reach(problem) if linear and entries <= MOST_REACHED else float("inf")
    stakes = _stakes(problem) if linear and n <= FEW_ROWS else 0.0
    return Size(n, d, entries, sparse, linear, svm.all_hard, reach, stakes, svm.homogeneous, samples)


def _reach(problem: Problem) -> float:
    """`Size.reach`; infinite with a free intercept, which moves all margins, and of losses other than hinges."""
    svm = problem.outlined
    if svm.curved or not svm.plain or svm.common_level != 1.0:
        return float("inf")
    if not svm.bounded or any(not group.ridge for group in svm.groups):
        return float("inf")
    ones = 1.0 if svm.penalised else 0.0
    return float(np.mean(svm.upper)) * (problem.space.scale + ones)


def _stakes(problem: Problem) -> float:
    """ΣC_i κ where α is bounded, else 0."""
    svm = problem.outlined
    return float(svm.upper.sum()) * problem.space.scale if svm.bounded else 0.0


def machine_traits(problem: Problem) -> Traits:
    """The traits of a problem's dual, without a look at its Gram matrix."""
    return traits_of(problem.outlined, problem.space.is_linear)


class Followers:
    """What time is left for further choices: all together may take a multiple of what the first one took.

    first: Seconds that the first choice took.
    """

    def __init__(self, first: float) -> None:
        self.left = FOLLOWERS * max(first, FLOOR)

    def spend(self, seconds: float) -> None:
        """Count what a follower took."""
        self.left -= seconds

    def refuse(self, estimate: Cost) -> str | None:
        """Why one is not tried, in words; None where it may be."""
        return f"about {in_seconds(estimate.seconds)}" if estimate.seconds > self.left else None


def in_seconds(seconds: float) -> str:
    """An estimate of seconds, for people: to one digit, because it is worth no more."""
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{float(f'{seconds / size:.1g}'):g} {unit}"
    return f"{float(f'{seconds:.1g}'):g} s"
