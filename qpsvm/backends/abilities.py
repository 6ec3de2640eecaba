"""Describe the capabilities of backends (`Abilities`).

A backend lists the traits of machines that it supports: `ALL_TRAITS` without those that it cannot handle. It accepts a
machine that has no other traits. So a new machine needs no entry, and a message can name the unsupported traits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from qpsvm.backends.requirements import Form

if TYPE_CHECKING:
    pass

from qpsvm.backends.traits import ALL_TRAITS, TRAIT_DESCRIPTIONS, Traits

#: Limits and starts that a user may request and that not every solver supports.
RequestedOption = Literal["max_iter", "time_limit", "start"]


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
