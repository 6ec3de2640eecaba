"""What of a machine's steps depends on its intercept: free, penalised, or absent.

A penalised b is part of the norm and of K + 1, and has an equation of its own; without a b, the steps about it do not
exist. The LaTeX of both has `terms`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from qpsvm.bounds import certify, levels
from qpsvm.derivation import measures
from qpsvm.derivation.step import Measure, Step
from qpsvm.derivation.steps import shared
from qpsvm.machines import Problem

#: Why steps about b do not exist without one.
NO_INTERCEPT = "intercept=None: f(x) = ⟨w, φ(x)⟩ goes through the origin, there is no b"


def stationarity_in_b(tag: str, problem: Problem, half: str = r"½") -> Step:
    """The Lagrangian is flat in b, whatever its price; `half` is what stands in front of b² in the objective."""
    if problem.intercept == "penalised":
        return Step(
            tag, "Stationarity in b",
            f"With {half}b² in the objective, b has a price of its own. So the derivative gives b itself, instead of a "
            "balance between the classes.",
            r"\frac{\partial L}{\partial b}=0\quad\Longrightarrow\quad b=y^{\top}\alpha",
            certify.penalised_multipliers, measures.penalised_intercept,
        )  # fmt: skip
    step = shared.stationarity_in_b(tag)
    return step if problem.intercept == "free" else replace(step, absent=NO_INTERCEPT)


def intercept_recovered(
    tag: str, problem: Problem, text: str, latex: str, measure: Measure = measures.intercept_recovered,
    function: Callable[..., Any] = levels.average,
) -> Step:  # fmt: skip
    """Back to b: text and LaTeX are those of a free one."""
    if problem.intercept == "penalised":
        return Step(
            tag, "Recovering b",
            "A penalised intercept is a weight like the others, and it is read off α in the same way.",
            r"b=y^{\top}\alpha=\sum_i\alpha_i y_i",
            certify.penalised_multipliers, measures.penalised_intercept,
        )  # fmt: skip
    absent = "" if problem.intercept == "free" else NO_INTERCEPT
    return Step(tag, "Recovering b", text, latex, function, measure, absent)
