"""From a certificate over the rows that take part to a result over the caller's rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.types import FloatArray, made
from qpsvm.base.arrays.vectors import times
from qpsvm.base.arrays.words import shown
from qpsvm.base.errors import DataError, ParameterTypeError
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.samples import Samples
from qpsvm.machines.exact.exact_kernel import exact_bounds
from qpsvm.machines.problem.linear_constraints import UserRows
from qpsvm.program.svm_dual import SVMDual
from qpsvm.result.model import Model
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.space import FeatureSpace

#: A slack above this share of the margin is clear, and there this share of C, a unit of slack, is nothing.
CLEAR, NOTHING = 1e-6, 1e-9
#: Letters of the names of a user's rows that a table keeps.
LONGEST_NAME = 64
#: Nor is more than this share of C ever nothing.
SMALL = 1e-3


def svm_result(problem: Any, certificate: Certificate, bounded: bool = True, **record: Any) -> SVMResult:
    """The result with the record of how it came about; a row that takes no part has α = 0 and C = 0.

    `bounded` says whether there is time for bounds on the machine with the kernel itself, of a pivoted factor. Where f
    is a multiple of that of the dual, as in an SVDD, so are b, w, the coefficients and what is missing.
    (`problems.base` imports this file, so a problem is any object here.)
    """
    samples, space, size = problem.samples, problem.space, problem.size_of_f
    spread = _itself if samples.takes_all else problem._spread
    kind, table = kinds(space, certificate) if certificate.kind is None else certificate.kind, None
    if problem.user_rows is not None:
        table = constraint_table(certificate, problem.user_rows, size)
        certificate = without_rows(certificate)
        kind = kind[: certificate.svm.m]
    svm = certificate.svm
    model = _model(problem, certificate)
    shown_yf, shown_margin = certificate.yf, certificate.margin
    if problem.diagonal:
        shown_yf, shown_margin = -size * certificate.short, np.zeros(svm.m)
    yf, margin = spread(shown_yf), spread(shown_margin)
    if not samples.takes_all:
        problem._absent(np.flatnonzero(samples.weight == 0), model, certificate, yf, margin)
    extras, intervals = problem._extras(certificate)
    extras = {**extras, **(exact_bounds(problem, certificate, model) if bounded else {})}
    low, high = certificate.b_interval
    if certificate.w is not None:
        moved = model.b / size - certificate.b
        low, high = low + moved, high + moved
    return made(
        SVMResult, alpha=spread(certificate.alpha), constraints=table,
        coef=samples.spread(times(size, certificate.coef[: svm.n])),
        b=model.b, b_interval=(size * low, size * high),
        rho=extras.get("rho", certificate.rho), primal=certificate.primal, dual=certificate.dual, gap=certificate.gap,
        rounding=certificate.rounding, kind=spread(kind) if svm.rows is None else samples.spread(by_sample(svm, kind)),
        yf=yf, margin=margin, upper=spread(svm.upper), curvature=spread(svm.curvature), unit=svm.unit / size,
        model=model, extras=extras, intervals=intervals, target=problem.shown_target, kinds=problem.kinds,
        pairs=problem.shown_pairs, problem=bare(problem), **record,
    )  # fmt: skip


def bare(problem: Any) -> Any:
    """The problem without what was computed of it, such as its Gram matrix."""
    twin, kind = object.__new__(type(problem)), type(problem)
    kept = {name: v for name, v in vars(problem).items() if not isinstance(getattr(kind, name, None), cached_property)}
    twin.__dict__.update(kept)
    return twin


def _itself(values: NDArray[Any]) -> NDArray[Any]:
    return values


def without_rows(certificate: Certificate) -> Certificate:
    """The certificate over the machine's own rows, with b in f as for a machine without rows of a user's."""
    users = certificate.svm.users
    assert users is not None
    own, multipliers = users.own, dict(certificate.multipliers)
    b = multipliers.pop("b", 0.0)
    intervals = dict(certificate.intervals)
    low, high = intervals.pop("b", (b, b))
    yf = certificate.yf[: own.m] + (own.sign * b if own.intercept is not None else 0.0)
    return certificate.changed(
        svm=own, alpha=certificate.alpha[: own.m], yf=yf, margin=own.margin(multipliers), b=b, b_interval=(low, high),
        multipliers=multipliers, intervals=intervals, slack=None, radius=None, contributing=None,
    )  # fmt: skip


def constraint_table(certificate: Certificate, rows: UserRows, size: float) -> NDArray[np.void]:
    """What `SVMResult.constraints` is: (p,).

    The left-hand side is h − slack, with what the certificate knows of the slack: of f, as the user wrote it.
    """
    users = certificate.svm.users
    assert users is not None
    behind = slice(users.own.m, None)
    short = certificate.short[behind] if certificate.slack is None else certificate.slack[behind]
    prices = certificate.alpha[behind]
    columns = {
        "value": rows.asked + rows.scale * size * short, "bound": rows.asked,
        "violation": rows.scale * size * np.maximum(short, 0.0),
        "price": certificate.unit * prices / rows.scale / size,
        "gap": certificate.unit * prices * np.abs(short),  # (OWN.8)
    }  # fmt: skip
    table = np.empty(rows.p, dtype=[("name", f"U{LONGEST_NAME}"), *((name, "f8") for name in columns)])
    table["name"] = rows.names
    for name, values in columns.items():
        table[name] = values
    return table


def by_sample(svm: SVMDual, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    """The largest of the kinds of a sample's rows: (n,), from (m,)."""
    assert svm.rows is not None
    found = np.zeros(svm.n, dtype=np.int8)
    np.maximum.at(found, svm.rows, kind)
    return found


def kinds(space: FeatureSpace, certificate: Certificate) -> NDArray[np.int8]:
    """0 zero, 1 free, 2 bound: `split`, but by comparing α with the gradient y f − ρ, and not by a cut like 1e-5.

    α counts as 0 where the row would stay beyond its margin without it: to take α away moves y f by K_ii α. It counts
    as 0, too, where the row is clearly beyond its margin and α is nothing beside C. In the same ways it counts as C.
    What is more than `SMALL` of C away from a bound is not at it, however far from the margin the row of an inaccurate
    point may be. A free row whose loss is curved falls short of its margin by δα, and pays for it: that is a 2 as well,
    where α has no bound.
    """
    svm = certificate.svm
    kind = split(certificate.alpha, svm.upper)
    inside, team = (kind == 1).nonzero()[0], svm.team
    if not team.any(len(inside) > 0):
        return kind
    alpha, upper, margin = certificate.alpha[inside], svm.upper[inside], certificate.margin[inside]
    own = svm.matrix.diagonal()[inside] if svm.mix is not None else space.curvature(svm.samples_of(inside))
    curvature = np.maximum(own, 1e-12 * space.scale)
    slack = certificate.yf[inside] - margin
    free: Any = 1
    if svm.curved:
        bend = svm.curvature[inside]
        curvature += bend
        slack += bend * alpha
        free = np.where((bend > 0.0) & np.isinf(upper), 2, 1)
    way = 1.0 / curvature
    clear = np.abs(slack) > CLEAR * np.abs(margin)
    if clear.any():
        way = np.maximum(way, np.where(clear & (upper < np.inf), NOTHING * upper, 0.0))
    slack *= way
    price = SMALL * np.minimum(
        upper, team.most(float(certificate.alpha.max(initial=0.0)))
    )  # of C, or of a hard margin, the largest α
    at_zero, full = alpha <= np.minimum(slack, price), upper - alpha <= np.minimum(-slack, price)
    kind[inside] = np.where(at_zero, 0, np.where(full, 2, free))
    return kind


def split(alpha: FloatArray, upper: FloatArray) -> NDArray[np.int8]:
    """What the numbers α say of each row, (m,): 0 where α = 0, 1 where 0 < α < C, 2 where α = C."""
    positive = alpha > 0.0
    kind = positive.astype(np.int8)  # (DUAL.8), (HARD.12), (CSVM.13), (NUSVM.14), (PHINGE.13)
    kind[positive & (alpha >= upper)] = 2  # (DUAL.8), (CSVM.13), (NUSVM.14), (PHINGE.13)
    return kind


def _model(problem: Any, certificate: Certificate) -> Model:
    samples, space, size = problem.samples, problem.space, problem.size_of_f
    d = samples.X.shape[1]
    common: dict[str, Any] = {
        "kernel": space.kernel, "classes": problem.predicted, "b": size * certificate.b, "n_features": d,
        "feature_names": samples.feature_names, "diagonal": problem.diagonal,
    }  # fmt: skip
    if certificate.w is not None:
        common["b"] = size * space.moved_intercept(certificate.w, certificate.b)
        w, radius = times(size, space.moved(certificate.w)), None
        if space.affine:  # beside rows of a user's it is b that was certified
            radius = problem._extras(certificate)[0]["radius"]
        return Model(coef=np.zeros(0), vectors=np.zeros((0, d)), w=w, radius=radius, **common)
    kept = np.flatnonzero(certificate.coef)  # points of a user's rows among them
    vectors = samples.rows[kept] if isinstance(space.kernel, Precomputed) else space.X[kept]
    return Model(coef=times(size, certificate.coef[kept]), vectors=vectors, w=None, **common)


def check_result(samples: Samples, result: SVMResult) -> None:
    """That a result is over the samples of a problem.

    Raises ParameterTypeError, DataError.
    """
    if not isinstance(result, SVMResult):
        raise ParameterTypeError(f"result must be what solve(problem) returns, got {shown(result)}")
    if len(result.coef) != samples.n:
        raise DataError(f"the result is over {len(result.coef)} rows, the problem has {samples.n}")


def check_point(problem: Any, result: Any) -> None:
    """That the numbers of a result are a point of a problem, and its decision function one of the problem's.

    Raises DataError.
    """
    problem.samples.check()
    model = result.model
    classes = problem.predicted if isinstance(result, SVMResult) else problem.classes
    rows, features = len(result.coef), model.n_features
    why = ""
    if (rows, features) != problem.X.shape:
        why = (
            f"is over {rows} rows of {features} features, the problem has {problem.X.shape[0]} rows of "
            f"{problem.X.shape[1]}"
        )
    elif model.kernel != problem.kernel:
        why = f"has the kernel {model.kernel!r}, the problem {problem.kernel!r}"
    elif not np.array_equal(np.asarray(model.classes), np.asarray(classes)):
        why = f"has the classes {shown(model.classes)}, the problem {shown(classes)}"
    elif isinstance(result, SVMResult):
        why = _other_variables(problem, result)
    if why:
        raise DataError(f"the result {why}: give the result of solve(problem)")


def title_of(problem: Any, result: Any) -> str:
    """What is judged: the problem, and where the numbers are those of a result of another machine, that as well."""
    if result.title == problem.title:
        return str(problem.title)
    return f"{problem.title}; the numbers are those of a result of {result.title}"


def _other_variables(problem: Any, result: SVMResult) -> str:
    """What a result has no number for, or too many, as a point of a problem: the end of a sentence, or ""."""
    names = [name[:LONGEST_NAME] for name in problem._textbook_rows.names] if problem.constraints else []
    given = [] if result.constraints is None else result.constraints["name"].tolist()
    needed = {group.multiplier for group in problem.outlined.groups} - {"b", "rho"}
    needed |= {"radius"} if problem.affine else set()
    if len(result.alpha) != problem.alphas:
        return f"of {result.title} has {len(result.alpha)} α, the problem {problem.alphas}"
    if names != given:
        return f"has the rows of constraints {shown(given)}, the problem {shown(names)}"
    if not needed <= {*result.extras} or (result.model.diagonal != 0.0) != (problem.diagonal != 0.0):
        return f"of {result.title} has other variables than {problem.title}"
    return ""
