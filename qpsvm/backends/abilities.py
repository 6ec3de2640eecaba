"""Describe the capabilities of backends (`Abilities`) and the traits of machines (`find_problem_traits`) as data.

A machine is matched by its traits, and not by its name: by the requirements of its dual (DUAL.1). It has one trait of
each kind:

| kind         | traits                                                   | in (DUAL.1)                            |
|--------------|----------------------------------------------------------|----------------------------------------|
| kernel       | linear, kernel                                           | φ(x) = x, or not                       |
| level        | level 1, level 0, other levels                           | ℓ                                      |
| upper bounds | bounded, unbounded, partly bounded                       | U finite everywhere, nowhere, in part  |
| curvature    | flat, curved, partly curved                              | δ = 0, δ > 0, or δ = 0 in some rows    |
| equalities   | no rows, balance, sum, balance and total, one row, other | none; sᵀα = 0, e; and 1ᵀα = ν; others |
| intercept    | unpenalised, penalised                                   | whether the multiplier of E is penalised |
| samples      | one α a sample, mirrored α, several α a sample           | rows of the dual, and samples          |

A backend lists the traits that it supports: `ALL_TRAITS` without those that it cannot handle. It accepts a machine that
has no other traits. So a new machine needs no entry, and a message can name the unsupported traits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from qpsvm.backends.requirements import Form, Size
from qpsvm.base.arrays.frozen import find_common_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.kernels.feature_map import FeatureMap

if TYPE_CHECKING:
    from qpsvm.machines import Problem

#: Limits and starts that a user may request and that not every solver supports.
RequestedOption = Literal["max_iter", "time_limit", "start"]
#: Every trait, and its description in messages about a machine that a backend does not accept.
TRAIT_DESCRIPTIONS = {
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
    "partly curved": "losses of which some are piecewise linear and some are not",
    "no rows": "a machine without a free intercept",
    "balance": "the row yᵀα = 0 alone",
    "sum": "a sum of α that is given, as in a one-class machine",
    "balance and total": "a second equality row, as in a nu-SVM",
    "one row": "an equality row other than yᵀα = 0",
    "other rows": "equality rows of its own",
    "unpenalised": "an intercept that is not penalised",
    "penalised": "a penalised intercept",
    "one α a sample": "one α a sample",
    "mirrored α": "two α a sample, one for each side, as in a regression",
    "several α a sample": "several α a sample, or several samples an α",
}
Traits = frozenset[str]
#: Every trait: what a solver of any QP takes.
ALL_TRAITS: Traits = frozenset(TRAIT_DESCRIPTIONS)


def find_dual_traits(svm: SVMDual, linear: bool) -> Traits:
    """Return the traits of a dual over a linear or another kernel; cached, also for duals over another Gram matrix."""
    told = svm.__dict__.setdefault("traits", {})
    if linear not in told:
        told[linear] = _compute_dual_traits(svm, linear)
    return told[linear]  # type: ignore[no-any-return]


def _compute_dual_traits(svm: SVMDual, linear: bool) -> Traits:
    value = svm.common_level
    return frozenset(
        (
            "linear" if linear else "kernel",
            "level 1" if value == 1.0 else "level 0" if value == 0.0 else "other levels",
            "bounded" if svm.is_bounded else "partly bounded" if np.isfinite(svm.upper).any() else "unbounded",
            _classify_curvature(svm),
            _classify_equalities(svm),
            "penalised" if svm.penalised_groups else "unpenalised",
            "one α a sample"
            if svm.has_one_row_per_sample
            else "mirrored α"
            if svm.is_two_sided
            else "several α a sample",
        )
    )


def _classify_curvature(svm: SVMDual) -> str:
    """Return whether the losses are piecewise linear, as a trait."""
    if not svm.has_curvature:
        return "flat"
    everywhere = find_common_value(svm.curvature) is not None or bool((svm.curvature > 0.0).all())
    return "curved" if everywhere else "partly curved"


def _classify_equalities(svm: SVMDual) -> str:
    """Return the trait of the groups that are equalities."""
    groups = [group for group in svm.groups if not group.ridge]
    if not groups:
        return "no rows"
    signed = [group for group in groups if group.total == 0.0 and _is_constant(group.column, svm.sign)]
    if len(groups) == 1:
        return "balance" if signed else "sum" if _is_constant(groups[0].column, svm.sign) else "one row"
    total = [group for group in groups if group.total != 0.0 and _is_constant(group.column)]
    return "balance and total" if len(signed) == len(total) == 1 and len(groups) == 2 else "other rows"


def _is_constant(column: FloatArray, sign: FloatArray | None = None) -> bool:
    """Return whether a column (m,), or a column times the sign, is one number other than 0."""
    if column is sign:
        return True
    values = column if sign is None else column * sign
    return bool(len(values) and values[0] and (values == values[0]).all())


@dataclass(frozen=True)
class MachineSet:
    """The machines that have only these traits, with at most this many rows."""

    traits: Traits = ALL_TRAITS
    rows: float = float("inf")


#: Every machine, of any size.
ALL_MACHINES = (MachineSet(),)


@dataclass(frozen=True)
class Abilities:
    """Capabilities of a backend.

    summary: Text: what it needs of a QP, and its strengths.
    dual, primal: The machines whose dual, and whose primal, it accepts: those of any entry. Empty where it does
        not accept the form.
    missing_form_reason: Why it does not accept one of the forms; empty where it accepts both.
    accepts_any_qp: Whether it accepts any QP, and not only those of machines.
    enforced_limits: Which of "max_iter" and "time_limit" it enforces.
    supports_warm_start: Whether it can be warm-started at a given point of the dual.
    handles_interrupt: Whether it handles Ctrl-C itself, and ends with its best point.
    supports_refinement: Whether solving again at a smaller `tol` resumes from the last point and is worth trying.
    is_educational: Whether it is a textbook method, included for teaching and benchmarks.
    linear_form, kernel_form: The form in which it certifies best.
    options: The settings of the solver that `solve` passes on, by its own names.
    package: The distribution that it needs; None for a built-in solver.
    """

    summary: str
    dual: tuple[MachineSet, ...] = ()
    primal: tuple[MachineSet, ...] = ()
    missing_form_reason: str = ""
    accepts_any_qp: bool = False
    enforced_limits: frozenset[RequestedOption] = frozenset({"max_iter", "time_limit"})
    supports_warm_start: bool = False
    handles_interrupt: bool = False
    supports_refinement: bool = False
    is_educational: bool = False
    linear_form: Form = "dual"
    kernel_form: Form = "dual"
    package: str | None = None
    options: frozenset[str] = frozenset()

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that it accepts, of at least one machine."""
        return (*(("dual",) if self.dual else ()), *(("primal",) if self.primal else ()))

    def supports(self, option: RequestedOption) -> bool:
        """Return whether it supports a limit or start that a user may request."""
        return self.supports_warm_start if option == "start" else option in self.enforced_limits

    def accepts(self, traits: Traits, rows: int, form: Form) -> bool:
        """Return whether it accepts this form of a machine with these traits, over this many rows."""
        return any(traits <= able.traits and rows <= able.rows for able in self._list_accepted(form))

    def accepts_every_machine(self, form: Form) -> bool:
        """Return whether it accepts this form of every machine."""
        return any(able.traits == ALL_TRAITS for able in self._list_accepted(form))

    def explain_rejection(self, traits: Traits, rows: int, form: Form) -> str:
        """Explain why the backend does not accept this form of the machine."""
        closest = min(self._list_accepted(form), key=lambda able: (len(traits - able.traits), rows > able.rows))
        missing = sorted(traits - closest.traits)
        return " and ".join(TRAIT_DESCRIPTIONS[trait] for trait in missing) or f"more than {closest.rows:g} rows"

    def describe(self) -> str:
        """Describe what it accepts, which limits it does not support, and whether it is for study only."""
        idle = [f"no {wish}" for wish in ("max_iter", "time_limit") if not self.supports(wish)]
        return "; ".join([self.summary, *idle, *(["for study"] if self.is_educational else [])])

    def _list_accepted(self, form: Form) -> tuple[MachineSet, ...]:
        return self.dual if form == "dual" else self.primal


def join_names(names: Iterable[str]) -> str:
    """Join names for a message: "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def measure_size(problem: Problem) -> Size:
    """Measure the size of a problem, from which the requirements follow."""
    linear, mapped, svm = problem.space.is_linear, isinstance(problem.kernel, FeatureMap), problem._dual_structure
    X = problem.space.samples if mapped else problem.samples
    n, entries, samples = len(problem._active_target), X.entries, 0
    every, d = problem.space.samples.shape if mapped else problem.X.shape
    if svm.mix is not None:  # a row has the entries of all its samples
        n, samples = svm.mix.shape
        entries = round(entries / every * svm.mix.nnz) if X.is_sparse else n * d
    return Size(n, d, entries, linear, samples)


def find_problem_traits(problem: Problem) -> Traits:
    """Return the traits of a problem's dual, without computing its Gram matrix."""
    return find_dual_traits(problem._dual_structure, problem.space.is_linear)
