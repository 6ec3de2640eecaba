"""Define the terms of an all-in-one multiclass machine (`AllInOneTerms`), and its symbols.

Each class c has a decision function f_c. A row is a sample i with a rival c of its class y_i, and the constraint
f_{y_i}(x_i) − f_c(x_i) ≥ 1 − slack. In the machine of Crammer and Singer the rivals of a sample share one slack ξ_i, in
that of Weston and Watkins each has its own, ξ_ic. Values of rows are vectors (m,) with m = n(k − 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.all_in_one_quantities import AllInOneQuantities
from qpsvm.derivation.expressions import Subset, line
from qpsvm.derivation.letter_builder import letter
from qpsvm.derivation.term_builders import HALF, add, total
from qpsvm.derivation.terms import PRODUCT, SUM, Term
from qpsvm.machines import CrammerSinger
from qpsvm.machines.problem.all_in_one import AllInOneProblem

#: The index of a sum over all rows: what follows Σ_ in Σ_i Σ_{c≠y_i}.
RIVALS = r"i\sum_{c\ne y_i}"
BETA_SUM = Term((r"\sum_i\beta_{ic}", "Σ_i β_ic", "beta.sum(axis=0)"), lambda at: at.beta_sums, rank=PRODUCT)
B = letter("b_c", lambda at: at.beta_sums if at.intercept_in_kernel else at.b)
SQUARE = letter(r"\|w_c\|^2", "squares", "norm(w, axis=1)**2")
SQUARE_OF_ALPHA = letter(r"\beta_c^{\top}K\beta_c", "squares_of_alpha", "diag(beta.T @ K @ beta)")
SQUARED_DISTANCE = letter(
    r"\|w_c-w_c(\alpha)\|^2",
    lambda at: at.squares - 2.0 * (at.beta * (at.f - B.value(at))).sum(axis=0) + at.squares_of_alpha,
    "norm(w - w_of_alpha, axis=1)**2",
)
QP_VALUE = letter(
    "",
    lambda at: -at.problem.qp("dual").objective(at.dual.flatten_alpha(at.alpha)),
    "-qp.objective(variables)",
    "minus the dual QP's objective at α",
)
ALPHA_SUM = Term(
    (r"\sum_{d\ne y_i}\alpha_{id}", "Σ_d α_id", "sum_over_rivals(alpha)"), lambda at: at.alpha.sum(axis=1), rank=PRODUCT
)


def read_by_row(name: str) -> Any:
    """Return a function of a point that reads its attribute, (n, k) or (n, 1), for each row: (m,)."""
    return lambda at: at.dual.flatten_alpha(np.broadcast_to(getattr(at, name), at.alpha.shape))


ALPHA = letter(r"\alpha_{ic}", read_by_row("alpha"))
#: f of a sample's own class minus that of a rival.
F_DIFFERENCE = letter(
    r"f_{y_i}(x_i)-f_c(x_i)", lambda at: at.dual.level - read_by_row("shortfalls")(at), "f_y - f_c", rank=SUM
)


@dataclass(frozen=True, eq=False)
class AllInOneTerms:
    """Terms of the equations of an all-in-one machine."""

    problem: AllInOneProblem

    @property
    def has_shared_slack(self) -> bool:
        """Whether the rivals of a sample share one slack, so that C_i bounds Σ_c α_ic."""
        return isinstance(self.problem, CrammerSinger)

    @property
    def has_b(self) -> bool:
        """Whether there are intercepts."""
        return self.problem.intercept is not None

    @property
    def has_penalised_b(self) -> bool:
        """Whether the intercepts are penalised, as weights are."""
        return self.problem.intercept == "penalised"

    @property
    def slack_index(self) -> str:
        """The index of a sum over all slacks."""
        return "i" if self.has_shared_slack else RIVALS

    @property
    def slack_scale(self) -> dict[str, Any]:
        """Argument `scale` of `line` for an equation with one entry per slack: the unit of its differences."""
        return {"scale": "C" if self.has_shared_slack else get_penalties}

    # --- the primal ---------------------------------------------------------------------------------------------------

    @cached_property
    def xi_of_row(self) -> Term:
        """The slack of each row."""
        if self.has_shared_slack:
            return letter(r"\xi_i", read_by_row("xi"), "xi_of_row", "ξ_i")
        return letter(r"\xi_{ic}", read_by_row("xi"), "xi", "ξ_ic")

    @cached_property
    def xi(self) -> Term:
        """Each slack once: one per sample if it is shared, else one per row."""
        if self.has_shared_slack:
            return letter(r"\xi_i", lambda at: at.xi.max(axis=1), "xi", "ξ_i")
        return self.xi_of_row

    @cached_property
    def C(self) -> Term:
        """The penalty per unit of each slack."""
        return letter("C_i", "C" if self.has_shared_slack else get_penalties)

    @cached_property
    def primal(self) -> Term:
        """The primal's value."""
        norm = HALF * total(SQUARE + (B**2 if self.has_penalised_b else None), "c")
        return norm + total(self.C * self.xi, self.slack_index)

    @cached_property
    def bound_slack(self) -> Term:
        """The left-hand side of the constraint of each row minus its right-hand side, ≥ 0."""
        return F_DIFFERENCE - 1 + self.xi_of_row

    @cached_property
    def lagrangian(self) -> Term:
        """The Lagrangian."""
        slack_products = total(self.eta * self.xi, self.slack_index)
        return add(self.primal, -self.margin_products, -slack_products, broken=r"\\ &\quad ")

    # --- multipliers and the dual -------------------------------------------------------------------------------------

    @cached_property
    def used(self) -> Term:
        """What a penalty C_i bounds: α_ic, or the sum of α_ic over the rivals that share a slack."""
        return ALPHA_SUM if self.has_shared_slack else ALPHA

    @cached_property
    def eta(self) -> Term:
        """The multiplier of each slack."""
        if self.has_shared_slack:
            latex, text = r"\eta_i", "η_i"
        else:
            latex, text = r"\eta_{ic}", "η_ic"
        return letter(latex, (self.C - self.used).value, "eta", text)

    @cached_property
    def margin_products(self) -> Term:
        """The sum of α_ic times `bound_slack` over all rows."""
        return total(ALPHA * self.bound_slack, RIVALS)

    @cached_property
    def slack_product(self) -> Term:
        """Each slack times its multiplier η."""
        return (self.C - self.used) * self.xi

    @cached_property
    def quadratic(self) -> Term:
        """The quadratic term of the dual."""
        return HALF * total(SQUARE_OF_ALPHA, "c")

    @cached_property
    def square_of_b(self) -> Term | None:
        """The term of penalised intercepts in the dual; None without them."""
        return HALF * total(BETA_SUM**2, "c") if self.has_penalised_b else None

    @cached_property
    def dual_value(self) -> Term:
        """The dual's value."""
        return add(total(ALPHA, RIVALS), -self.quadratic, self.square_of_b and -self.square_of_b)


#: The balance of each class, Σ_i β_ic = 0, which free intercepts require.
BALANCE = line(BETA_SUM, "=", 0, scale="beta_sum_scale")


def get_penalties(at: AllInOneQuantities) -> FloatArray:
    """Return C_i of each row: (m,)."""
    return at.dual.flatten_alpha(np.broadcast_to(at.C[:, None], at.alpha.shape))


def select_kind(kind: int) -> Subset:
    """Select the rows of a kind: 0 for α = 0, 1 for a free α, 2 for α at its bound."""
    return Subset(f"kind == {kind}", lambda at: read_kinds(at) == kind)


def read_kinds(at: AllInOneQuantities) -> Any:
    """Return the kind of each row as in `select_kind`: (m,)."""
    return at.dual.flatten_alpha(at.problem.samples.select_active(at.result.kind))
