"""Describe the capabilities of backends (`Abilities`).

A trait is a property of a machine, such as a linear kernel (`traits`). A backend lists the traits that it supports,
usually all but a few, and accepts every machine without other traits. So a new machine needs no entry, and a message
can name the unsupported traits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qpsvm.backends.requirements import Form
from qpsvm.backends.traits import ALL_TRAITS, ONE_FUNCTION, TRAIT_DESCRIPTIONS, Traits

#: Limits and starts that a user may request and that not every solver supports.
RequestedOption = Literal["max_iter", "time_limit", "start"]


@dataclass(frozen=True)
class MachineSet:
    """The machines that have no other traits than these, and at most this many rows."""

    traits: Traits = ALL_TRAITS
    max_rows: float = float("inf")


#: Every machine, of any size.
ALL_MACHINES = (MachineSet(),)


@dataclass(frozen=True)
class Abilities:
    """Capabilities of a backend.

    summary: Text: what it requires of a QP, and its strengths.
    dual, primal: The machines whose dual or primal it accepts, as a union of sets; empty if it does not accept the
        form at all.
    missing_form_reason: Why it does not accept one of the forms; empty if it accepts both.
    accepts_any_qp: Whether it accepts any QP, not only those of machines.
    enforced_limits: Which of "max_iter" and "time_limit" it enforces.
    supports_warm_start: Whether it can be warm-started at a given point of the dual.
    handles_interrupt: Whether it handles Ctrl-C itself and returns its best point.
    tolerances: The tolerances of successive runs, None for its default. Each run resumes from the last point, until a
        point is certified. One value if a second run is not worthwhile.
    is_educational: Whether it is a textbook method, included for teaching and benchmarks.
    linear_form, kernel_form: The form whose certificates are best with a linear kernel, and with any other.
    package: The distribution that it requires; None for a built-in solver.
    options: The settings of the solver that `solve` passes on, by the solver's own names.
    """

    summary: str
    dual: tuple[MachineSet, ...] = ()
    primal: tuple[MachineSet, ...] = ()
    missing_form_reason: str = ""
    accepts_any_qp: bool = False
    enforced_limits: frozenset[RequestedOption] = frozenset({"max_iter", "time_limit"})
    supports_warm_start: bool = False
    handles_interrupt: bool = False
    tolerances: tuple[float | None, ...] = (None,)
    is_educational: bool = False
    linear_form: Form = "dual"
    kernel_form: Form = "dual"
    package: str | None = None
    options: frozenset[str] = frozenset()

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms that it accepts for at least one machine."""
        return (*(("dual",) if self.dual else ()), *(("primal",) if self.primal else ()))

    def supports(self, option: RequestedOption) -> bool:
        """Return whether it supports a limit or start that a user may request."""
        if option == "start":
            return self.supports_warm_start
        return option in self.enforced_limits

    def accepts(self, traits: Traits, rows: int, form: Form) -> bool:
        """Return whether it accepts this form of a machine with these traits, over this many rows."""
        return any(traits <= machines.traits and rows <= machines.max_rows for machines in self._list_accepted(form))

    def accepts_every_machine(self, form: Form) -> bool:
        """Return whether it accepts this form of every machine with one decision function."""
        return any(machines.traits >= ONE_FUNCTION for machines in self._list_accepted(form))

    def explain_rejection(self, traits: Traits, rows: int, form: Form) -> str:
        """Explain why it does not accept this form, one of `forms`, of the machine, by the set closest to it."""
        closest = min(
            self._list_accepted(form), key=lambda machines: (len(traits - machines.traits), rows > machines.max_rows)
        )
        unsupported = [TRAIT_DESCRIPTIONS[trait] for trait in sorted(traits - closest.traits)]
        return " and ".join(unsupported) or f"more than {closest.max_rows:g} rows"

    def describe(self) -> str:
        """Describe what it accepts, which limits it does not enforce, and whether it is for study only."""
        unsupported = [f"no {limit}" for limit in ("max_iter", "time_limit") if not self.supports(limit)]
        return "; ".join([self.summary, *unsupported, *(["for study"] if self.is_educational else [])])

    def _list_accepted(self, form: Form) -> tuple[MachineSet, ...]:
        return self.dual if form == "dual" else self.primal
