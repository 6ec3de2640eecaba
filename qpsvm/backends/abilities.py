"""What a backend can do, as data: said once, beside its class, and read by messages, by `auto`, by tests and tables.

A machine is judged by its traits, and not by its name: by what its dual

    minimise ½‖Σ α_k s_k φ(x_k)‖² + ½Σ δ_k α_k² − ℓᵀα  subject to 0 ≤ α ≤ U,  Eᵀα = e

asks of a solver. One trait of each kind:

| kind         | traits                                                   | in the dual                            |
|--------------|----------------------------------------------------------|----------------------------------------|
| kernel       | linear, kernel                                           | φ(x) = x, or not                       |
| level        | level 1, level 0, other levels                           | ℓ                                      |
| upper bounds | bounded, unbounded, partly bounded                       | U finite everywhere, nowhere, in part  |
| curvature    | flat, curved                                             | δ = 0, or not                          |
| equalities   | no rows, balance, balance and total, one row, other rows | none; sᵀα = 0; and 1ᵀα = ν; other ones |
| intercept    | unpenalised, penalised                                   | whether the multiplier of E has a price |
| samples      | one α a sample, several α a sample                       | rows of the dual, and samples          |

What a backend takes is a set of traits, `ANYTHING` without what it cannot have; a machine is taken where it has no
other. So a new machine is judged without being named, and what is missing is said in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from qpsvm.arrays.constant import common_value
from qpsvm.arrays.types import FloatArray
from qpsvm.dual.svm_dual import SVMDual

Form = Literal["dual", "primal"]
#: What a user may ask for that not every solver can do.
Wish = Literal["max_iter", "time_limit", "start"]
Trait = Literal[
    "linear", "kernel",
    "level 1", "level 0", "other levels",
    "bounded", "unbounded", "partly bounded",
    "flat", "curved",
    "no rows", "balance", "balance and total", "one row", "other rows",
    "unpenalised", "penalised",
    "one α a sample", "several α a sample",
]  # fmt: skip
Traits = frozenset[Trait]
#: Every trait: what a solver of any QP takes.
ANYTHING: Traits = frozenset(get_args(Trait))
#: What is said of a machine that has a trait which a backend cannot have.
IN_WORDS: dict[Trait, str] = {
    "linear": "a linear kernel",
    "kernel": "a kernel that is not linear",
    "level 1": "a margin level that is given",
    "level 0": "a margin level that is a variable, as in a nu-SVM",
    "other levels": "margin levels that differ",
    "bounded": "upper bounds of α",
    "unbounded": "α without upper bounds, as in a hard margin",
    "partly bounded": "upper bounds of some α only",
    "flat": "a dual without curvature of its own",
    "curved": "a loss that is not piecewise linear",
    "no rows": "a machine without a free intercept",
    "balance": "the row yᵀα = 0 alone",
    "balance and total": "a second equality row, as in a nu-SVM",
    "one row": "an equality row other than yᵀα = 0",
    "other rows": "equality rows of its own",
    "unpenalised": "an intercept without a price",
    "penalised": "a penalised intercept",
    "one α a sample": "one α a sample",
    "several α a sample": "several α a sample",
}


def traits_of(
    *,
    linear: bool,
    sign: FloatArray,
    level: FloatArray,
    upper: FloatArray,
    curvature: FloatArray,
    E: FloatArray,
    e: FloatArray,
    price: FloatArray,
    one_each: bool = True,
) -> Traits:
    """The traits of a dual.

    Parameters
    ----------
    linear : bool
    sign, level, upper, curvature : ndarray, shape (m,)
        s, ℓ, U and δ.
    E, e, price : ndarray, shapes (m, p), (p,), (p,)
        The columns of Eᵀα = e; one with a positive price is a penalised multiplier, and no equality.
    one_each : bool
        Whether there is one row of the dual a sample.
    """
    penalised = bool(price.any())
    if penalised:
        E, e = E[:, price == 0.0], e[price == 0.0]
    return frozenset(
        (
            "linear" if linear else "kernel",
            _level(level),
            _bounds(upper),
            "flat" if _common(curvature) == 0.0 else "curved",
            _equalities(sign, E, e),
            "penalised" if penalised else "unpenalised",
            "one α a sample" if one_each else "several α a sample",
        )
    )


def dual_traits(svm: SVMDual, linear: bool) -> Traits:
    """The traits of a machine's dual, whose kernel is linear or not."""
    groups = svm.groups
    return traits_of(
        linear=linear, sign=svm.sign, level=svm.level, upper=svm.upper, curvature=svm.curvature,
        E=np.array([group.column for group in groups]).reshape(len(groups), svm.m).T,
        e=np.array([group.total for group in groups]), price=np.array([group.ridge for group in groups]),
        one_each=svm.rows is None,
    )  # fmt: skip


def _common(vector: FloatArray) -> float | None:
    """The number that all entries are, or None."""
    value = common_value(vector)
    if value is None and len(vector) and (vector == vector[0]).all():
        return float(vector[0])
    return value


def _level(level: FloatArray) -> Trait:
    value = _common(level)
    return "level 1" if value == 1.0 else "level 0" if value == 0.0 else "other levels"


def _bounds(upper: FloatArray) -> Trait:
    value = common_value(upper)
    if value is not None:
        return "bounded" if value < math.inf else "unbounded"
    finite = np.isfinite(upper)
    return "bounded" if finite.all() else "partly bounded" if finite.any() else "unbounded"


def _equalities(sign: FloatArray, E: FloatArray, e: FloatArray) -> Trait:
    """The kind of the rows Eᵀα = e: two that hold one sum in each class are yᵀα = 0 and 1ᵀα = ν, however written."""
    count = E.shape[1]
    if count == 0:
        return "no rows"
    if count == 1:
        return "balance" if e[0] == 0.0 and _common(E[:, 0] * sign) else "one row"
    positive = sign > 0
    if count > 2 or positive.all() or not positive.any():
        return "other rows"
    first, second = E[positive.argmax()], E[positive.argmin()]  # of a sample of either class
    by_class = bool((np.where(positive[:, None], first, second) == E).all())
    (a, b), (c, d) = first.tolist(), second.tolist()
    equal = (a + c) * e[1] == (b + d) * e[0]  # the same sum t in both classes is Eᵀα = t (a + c, b + d)
    return "balance and total" if by_class and a * d != b * c and equal else "other rows"


@dataclass(frozen=True)
class Machines:
    """Those with no traits but these, up to so many rows."""

    traits: Traits = ANYTHING
    rows: float = float("inf")


#: Every machine, of any size.
ALL = (Machines(),)


@dataclass(frozen=True)
class Abilities:
    """What a backend can do.

    Attributes
    ----------
    needs : str
        For people: what it needs of a QP, and what is good about it.
    dual, primal : tuple of Machines
        Whose duals and primals it takes: those of any of the entries; empty where it does not take the form.
    because : str
        Why it does not take one of the forms; empty where it takes both.
    any_qp : bool
        Whether it takes any QP at all, and not only those of machines.
    keeps : frozenset of str
        Which of "max_iter" and "time_limit" it can keep.
    starts : bool
        Whether it can begin at a point of the dual that it is given.
    polls : bool
        Whether it looks for the interrupt key itself, and ends with its best point.
    tightens : bool
        Whether solving again at a smaller `tol` starts from the last point and is worth trying.
    study : bool
        Whether it is a textbook method, there to be measured.
    linear_form, kernel_form : "dual" or "primal"
        The form in which it certifies best.
    package : str or None
        The distribution that it needs; None for what is part of this library.
    """

    needs: str
    dual: tuple[Machines, ...] = ()
    primal: tuple[Machines, ...] = ()
    because: str = ""
    any_qp: bool = False
    keeps: frozenset[Wish] = frozenset({"max_iter", "time_limit"})
    starts: bool = False
    polls: bool = False
    tightens: bool = False
    study: bool = False
    linear_form: Form = "dual"
    kernel_form: Form = "dual"
    package: str | None = None

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that it takes, of one machine or another."""
        return (*(("dual",) if self.dual else ()), *(("primal",) if self.primal else ()))

    def grants(self, wish: Wish) -> bool:
        """Whether it can do what a user may ask for."""
        return self.starts if wish == "start" else wish in self.keeps

    def takes(self, traits: Traits, rows: int, form: Form) -> bool:
        """Whether it takes that form of a machine with these traits, over so many rows."""
        return any(traits <= able.traits and rows <= able.rows for able in self._able(form))

    def takes_all(self, form: Form) -> bool:
        """Whether it takes that form of every machine."""
        return any(able.traits == ANYTHING for able in self._able(form))

    def lacks(self, traits: Traits, rows: int, form: Form) -> str:
        """Why it does not take that form of a machine, in words."""
        closest = min(self._able(form), key=lambda able: (len(traits - able.traits), rows > able.rows))
        missing = sorted(traits - closest.traits)
        return " and ".join(IN_WORDS[trait] for trait in missing) or f"more than {closest.rows:g} rows"

    def in_words(self) -> str:
        """For people: what it needs, what it cannot keep, and what it is there for."""
        idle = [f"no {wish}" for wish in ("max_iter", "time_limit") if not self.grants(wish)]
        return "; ".join([self.needs, *idle, *(["for study"] if self.study else [])])

    def _able(self, form: Form) -> tuple[Machines, ...]:
        return self.dual if form == "dual" else self.primal


def listed(names: Iterable[str]) -> str:
    """Names for a message: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
