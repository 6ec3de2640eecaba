"""Prove bounds for the numbers of a result (`verify_result`)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from qpsvm.base.arrays.checks import as_real
from qpsvm.base.arrays.rationals import RationalVector
from qpsvm.base.errors import UnsupportedError
from qpsvm.bounds.proof.claims import ProofRequest
from qpsvm.bounds.proof.classes import ExactClassSpace, make_class_alpha_feasible
from qpsvm.bounds.proof.exact_dual import ExactDual, Primal
from qpsvm.bounds.proof.proof import Proof
from qpsvm.bounds.proof.prove import prove
from qpsvm.bounds.proof.spaces import BallSpace, Space
from qpsvm.machines.problem.dual_statement import DualStatement
from qpsvm.machines.problem.exact_primal import collect_alpha, collect_class_primal, collect_costs, collect_primal
from qpsvm.machines.problem.exact_space import (
    build_class_space,
    build_exact_space,
    collect_linear_points,
    list_sample_assumptions,
)
from qpsvm.machines.problem.proof_record import build_proof_record
from qpsvm.machines.problem.result_checks import check_point, check_result, format_title
from qpsvm.machines.registry import is_registered
from qpsvm.result.svm_result import SVMResult


def verify_result(problem: DualStatement, result: SVMResult, tol: float | None = None) -> Proof:
    """Prove bounds for the numbers of a result. Raises ParameterTypeError, DataError, UnsupportedError."""
    has_classes = problem._dual_structure.classes is not None
    tol = None if tol is None else as_real(tol, "tol")
    request = replace(
        build_proof_request(problem, result), measured_gap=result.gap, tol=tol, title=format_title(problem, result),
        record={"stated": partial(build_proof_record, problem, result)},
        costs=None if has_classes else collect_costs(problem, result),
    )  # fmt: skip
    proof = prove(request)
    if has_classes:
        return replace(proof, alpha=proof.alpha.reshape(-1, len(problem.classes)))
    return proof


def build_proof_request(problem: DualStatement, result: SVMResult) -> ProofRequest:
    """Collect what a proof is about: exact program, points, and the numbers of the result.

    Raises ParameterTypeError, DataError, UnsupportedError.
    """
    check_result(problem.samples, result)
    check_point(problem, result)
    if problem._dual_structure.classes is not None:
        space = build_class_space(problem)
        primal_point = collect_class_primal(problem, result)
        return ProofRequest(
            problem._build_exact_program(), ExactClassSpace(space, len(problem.classes)), primal_point,
            problem._select_active(result.alpha).ravel(), repair=make_class_alpha_feasible,
        )  # fmt: skip
    space, primal_point = build_space_and_primal(problem, result)
    program = build_registered_program(problem, space.levels if isinstance(space, BallSpace) else None)
    return ProofRequest(program, space, primal_point, collect_alpha(problem, result))


def build_space_and_primal(problem: DualStatement, result: SVMResult) -> tuple[Space, Primal]:
    """Return the points of a problem, and the numbers that a result has for them; of a linear ball from its centre."""
    w = result.model.w
    if w is None or not problem._is_affine or problem.constraints:
        return build_exact_space(problem), collect_primal(problem, result)
    centre = w / float(problem._f_scale)
    space = BallSpace(collect_linear_points(problem), centre)
    space.assumptions = list_sample_assumptions(problem)
    if not (math.isfinite(result.radius) and np.isfinite(centre).all()):
        return space, Primal(centre, None)  # of which nothing is proven
    return space, Primal(np.zeros_like(w), None, {"b": Fraction(result.radius) ** 2 / 2})  # (BALL.1)


def build_registered_program(problem: DualStatement, levels: RationalVector | None = None) -> ExactDual:
    """Build the exact program of a machine of the library. Raises UnsupportedError."""
    if not is_registered(type(problem)):
        name = type(problem).__name__
        raise UnsupportedError(f"there is no exact program of {name} to prove; certify says what is measured")
    return problem._build_exact_program(levels)
