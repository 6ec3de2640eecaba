"""The strict judge: is a solver's claim proven true, refuted, or open?

A claim is "this point is within tol of the optimum, relatively". Whoever made the point, it is

- proven, where the relative gap of it and some partner is proven to be at most tol: of α the best w and b that the
  library finds for it, of w and b a dual point of our own;
- refuted, where its gap is proven to be more than tol beside the best partner there is, an optimal one: D(α) from above
  against a dual value that is proven to be reached, or P(w, b) from below against a primal one;
- open otherwise.

Every bound is one of `SVMResult.verify`, rounding of any kind included.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

import qpsvm
from benchmarks.score import REFERENCE_TOL
from benchmarks.solvers.base import Point
from qpsvm.machines import Problem

#: Rows up to which points are proven: beyond, kernels take longer to prove than solvers to solve.
MAX_ROWS = 5000


class ClaimProver:
    """Proves or refutes the points of one problem; what they are compared with is made once.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def _reference(self) -> tuple[qpsvm.SVMResult, float, float]:
        """A certified solution, and what is proven of the optimum: not below the one, not above the other."""
        result = qpsvm.solve(self.problem, tol=REFERENCE_TOL, check=False)
        proof = result.verify()
        return result, proof.dual, proof.primal

    def bound_gap(self, point: Point) -> dict[str, float]:
        """Bound the relative distance of the point from the optimum, above and below.

        Parameters
        ----------
        point : Point

        Returns
        -------
        dict of str to float
            "proven_gap", infinite where nothing is proven, and "refuted_gap": a claim below it is refuted.
        """
        most = math.inf
        least = 0.0
        with contextlib.suppress(qpsvm.QPSVMError):  # numbers that are none, or a machine that no proof is about
            if point.alpha is not None:
                most, least = self._bound_dual_point(point)
            elif point.w is not None or point.coefficients is not None:
                most, least = self._bound_primal_point(point)
        return {"proven_gap": most, "refuted_gap": least}

    def _bound_dual_point(self, point: Point) -> tuple[float, float]:
        assert point.alpha is not None
        proof = self.problem.at(point.alpha).verify()
        reached, above = self._reference[1:]
        if "bounds" not in proof.record:
            return math.inf, 0.0
        low, high = (end * float(self.problem.svm.unit) for end in proof.record["bounds"].dual)
        return proof.gap, _compute_proven_share(reached - high, low, reached, above)

    def _bound_primal_point(self, point: Point) -> tuple[float, float]:
        result, below, reached = self._reference
        if point.w is not None:
            model = replace(result.model, b=point.b, w=point.w)
        else:
            model = result.model
        if point.coefficients is None:
            coef = result.coef
        else:
            coef = np.asarray(point.coefficients, dtype=float)
        proof = replace(result, model=model, b=point.b, coef=coef).verify()
        if "bounds" not in proof.record:
            return math.inf, 0.0
        low, high = (end * float(self.problem.svm.unit) for end in proof.record["bounds"].primal)
        return proof.gap, _compute_proven_share(low - reached, below, reached, high)


def _compute_proven_share(difference: float, *values: float) -> float:
    """A proven difference as a share of the largest of some values, as (CERT.3) has it; a digit less than proven."""
    size = max(map(abs, values))
    if 0.0 < size < math.inf:
        return max(difference, 0.0) / size * (1.0 - 1e-12)
    return 0.0


def classify_claim(line: Mapping[str, Any]) -> str | None:
    """Classify the claim of a run in a word; None if it claims nothing, or was not to be proved."""
    if not line.get("claimed") or line.get("tol") is None or "refuted_gap" not in line:
        return None
    most = math.inf if line["proven_gap"] is None else line["proven_gap"]
    if most <= line["tol"]:
        return "proven"
    return "refuted" if (line["refuted_gap"] or 0.0) > line["tol"] else "open"
