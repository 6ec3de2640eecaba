"""The terms of linear constraints of a user's, in the letters of any machine: each is there, or it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from qpsvm.base.arrays.types import FloatArray
from qpsvm.derivation.quantities import At
from qpsvm.derivation.terms import PRODUCT, Term, letter, times, total, written
from qpsvm.machines import SVDD, OneClass, Problem, ValueConstraints

#: Rows that are named in a sentence: more of them are in `SVMResult.constraints`.
NAMED = 3
LAMBDA = letter(r"\lambda_j", "user_prices", "price")


def bounds_of(at: At) -> FloatArray:
    """h as the user wrote it: (p,)."""
    return np.concatenate([item.h for item in at.problem.constraints])


def unit_of(at: At) -> float:
    """What w and b of the user's rows are in those of the dual: of a ball w is 2c and b is 2μ."""
    return float(at.problem.size_of_f)


def pulled(latex: str, text: str, python: str, name: str, price: Term) -> Term:
    """Σ λ_j of something that every row has, by a method of the point."""
    return written(latex, text, python, lambda at, values: getattr(at, name)(values), price)


@final
@dataclass(frozen=True)
class Users:
    """What the rows add to a machine's formulas.

    unit: The machine's λ, or None: λ_j/λ then stands beside α_k.
    """

    problem: Problem
    unit: Term | None

    @property
    def ball(self) -> bool:
        """Whether w is 2c and b is 2μ; what b counts in a row is d_j there."""
        return isinstance(self.problem, SVDD)

    @property
    def long(self) -> bool:
        """Whether rows are over values of an f that lacks K(x, x)."""
        return self.ball and any(isinstance(item, ValueConstraints) for item in self.problem.constraints)

    @property
    def count(self) -> Term | None:
        """c_j, what b counts in a row; None without a b."""
        there = any(group.multiplier == "b" for group in self.problem.svm.groups)
        return letter("d_j" if self.ball else "c_j", lambda at: at.rows.c, "c_rows") if there else None

    @property
    def product(self) -> Term:
        """⟨g_j, w⟩."""
        latex = r"2\langle g_j,c\rangle" if self.ball else r"\langle g_j,w\rangle"
        python = "(2 * (G @ c))" if self.ball else "(G @ w)"
        return letter(latex, lambda at: unit_of(at) * (at.left - at.rows.c * at.b), python, rank=PRODUCT)

    @property
    def row(self) -> Term:
        """⟨g_j, w⟩ + c_j b."""
        if self.count is None:
            return self.product
        if isinstance(self.problem, OneClass):
            return self.product - self.count * letter(r"\rho", lambda at: -at.b)
        return self.product + (2 * self.count * letter(r"\mu", "b") if self.ball else self.count * letter("b"))

    @property
    def bound(self) -> Term:
        """h_j, and of values of a ball's f what it lacks."""
        if not self.long:
            return letter("h_j", bounds_of, "bound")
        lengths = letter(
            r"\sum_l A_{jl}K(z_l,z_l)", lambda at: unit_of(at) * at.rows.h - bounds_of(at),
            "A @ K(Z, Z).diagonal()", "Σ A_jl K(z_l, z_l)", PRODUCT,
        )  # fmt: skip
        return letter("h_j", bounds_of, "bound") + lengths

    @property
    def room(self) -> Term:
        """What is left of the bound."""
        return self.bound - self.row

    @property
    def violated(self) -> Term:
        """What the rows add to L."""
        row = self.row
        for each in self.bound.parts or (self.bound,):
            row = row - each
        return total(LAMBDA * row, "j")

    @property
    def cost(self) -> Term:
        """What the bounds take off the dual's value."""
        return total(LAMBDA * self.bound, "j")

    @property
    def price(self) -> Term:
        """λ_j in the units of α."""
        return LAMBDA / self.unit if self.unit else LAMBDA

    @property
    def balance(self) -> Term | None:
        """What the rows take off the balance of b."""
        return None if self.count is None else total(times(self.count, self.price), "j")

    @property
    def pull(self) -> Term:
        """Σ λ_j g_j, what the rows take off w."""
        return pulled(r"\sum_j%s\,g_j", "Σ %s g_j", "G.T @ (%s)", "of_rows", self.price)

    @property
    def crossed(self) -> Term:
        """Σ λ_j ⟨g_j, w⟩."""
        return total(times(self.price, self.product), "j")

    @property
    def values(self) -> Term:
        """Σ λ_j ⟨g_j, φ(x)⟩ at samples half way between neighbours."""
        return pulled(
            r"\sum_j%s\,\langle g_j,\varphi(x)\rangle", "Σ %s ⟨g_j, φ(x)⟩", "phi(x) @ (G.T @ (%s))", "of_rows_between",
            self.price,
        )  # fmt: skip


def dearest(at: Any) -> str:
    """What the products of the constraints are, the dearest by name."""
    bounds, prices = bounds_of(at), at.user_prices
    values = bounds + unit_of(at) * (at.left - at.rows.h)
    first = np.argsort(-prices, kind="stable")[:NAMED]
    signed = [f"({value:.4g})" if value < 0.0 else f"{value:.4g}" for value in values]
    said = "; ".join(f"{at.rows.names[j]}: {prices[j]:.4g} · ({bounds[j]:.4g} − {signed[j]})" for j in first)
    more = "; …" if at.rows.p > NAMED else ""
    return f"λ (h − ⟨g, w⟩ − c b) of all rows, added up by size, and 0. {said}{more}"
