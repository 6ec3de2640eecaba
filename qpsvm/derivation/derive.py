"""Derive the dual of a problem or of a class of machines, measured at a result if there is one (`derive`).

Steps are built for a problem. So for a class an example problem over four samples is built, and nothing is measured.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qpsvm.base.arrays.checks import as_finite_vector, as_flag
from qpsvm.base.arrays.formatting import format_value
from qpsvm.base.arrays.types import FloatArray
from qpsvm.base.errors import ParameterTypeError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.bounds.proof.proof import Proof
from qpsvm.derivation.derived import Derivation
from qpsvm.derivation.registry import build_steps, select_steps
from qpsvm.machines import AllInOneProblem, Problem
from qpsvm.machines.problem.constraints import Constraints
from qpsvm.machines.problem.problem import check_result_matches
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Precomputed
from qpsvm.space.kernels.kernel_registry import as_kernel

#: Options of `derive` besides problem and result.
OPTIONS = ("alpha", "proven", "steps")
#: Four samples on which every machine can be built, and their targets, by the kind of target.
POINTS = np.array([[0.0, 0.0], [2.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
TARGETS = {"labels": [0, 1, 0, 1], "numbers": [0.0, 1.0, 2.0, 0.5], "ranks": [0, 2, 1, 3]}
#: Parameters with one entry per sample or label, which do not exist without data.
DATA_OPTIONS = ("X", "y", "t", "sample_weight", "groups", "pairs")


def derive(
    problem: Problem | type[Problem],
    result: SVMResult | None = None,
    *,
    alpha: ArrayLike | None = None,
    proven: bool = False,
    steps: Sequence[str] | str | None = None,
    **options: Any,
) -> Derivation:
    """Derive a problem's dual, step by step, each measured at a solution, or at any α.

    Parameters
    ----------
    problem : Problem, or a class of them
        Any machine of the library. For a class, such as `CSVM`, the derivation is in symbols only.
    result : SVMResult, optional
        Of this problem, optimal or not. Without one the steps have no residuals.
    alpha : array_like, shape (n,), or (2n,) for a regression, optional
        Dual variables to measure at instead of a result, in the order of the caller's rows. They must be finite, but
        need not be feasible. `problem.at(alpha)` certifies them, and each step is measured at exactly this α.
    proven : bool
        Whether to add what is proven about the numbers of the result, as by `result.verify()`: bounds that hold in
        spite of rounding, for the equations that a proof is about.
    steps : sequence of str, or str, optional
        Tags of the steps to show, such as ["CSVM.9"]; all by default. The headline is based on all of them anyway.
    **options
        For a class, its options besides the samples: `intercept`, `kernel`, `loss`, …; constraints=True stands for
        linear constraints on w.

    Returns
    -------
    Derivation
        Measured if there is a result or an α.

    Raises
    ------
    UnsupportedError
        The machine has no derivation; an α was given for a machine with linear constraints, which needs their
        multipliers too; or there is no proof for this machine or its kernel.
    DataError
        The result is over other rows or features than the problem, or with another kernel; or α has another shape, or
        values that are not finite.
    ParameterTypeError
        Not a problem, not a result, or both a result and an α; a proof without a result; a class with a result, or
        with an option that belongs to samples.
    UnknownOptionError
        No step has such a tag, or the class has no such option; the message names the nearest.

    See Also
    --------
    dualise : The dual of any QP, derived mechanically.

    Examples
    --------
    >>> import qpsvm
    >>> problem = qpsvm.CSVM([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> derivation = qpsvm.derive(problem, qpsvm.solve(problem))
    >>> for tag in ("CSVM.4", "CSVM.6", "CSVM.15"):
    ...     print(derivation[tag].statement, "|", derivation.residuals()[tag] < 1e-12)
    ∂L/∂w = 0:  w = Σ α_i y_i φ(x_i) | True
    ∂L/∂ξ_i = 0:  η_i = C_i − α_i | True
    linear kernel only:  w = Σ α_i y_i x_i has one weight per feature, and f(x) = wᵀx + b | True

    Without data, in symbols, the step that a penalised intercept changes:

    >>> print(qpsvm.derive(qpsvm.CSVM, intercept="penalised", steps=["CSVM.5"]).to_text().splitlines()[-1].strip())
    ∂L/∂b = 0  ⟹  b = yᵀα
    """
    proven = as_flag(proven, "proven")
    if isinstance(problem, type) and issubclass(problem, Problem):
        found = _derive_class(problem, result is not None or alpha is not None or proven, options)
    else:
        if options:
            raise UnknownOptionError(
                f"derive takes no option {min(options)!r} of a problem; {describe_nearest(min(options), OPTIONS)}; "
                "those of a machine are for its class, derive(CSVM, intercept='penalised'), or for problem.replace(…)"
            )
        found = _derive_problem(problem, result, alpha, proven)
    if steps is None:
        return found
    tags = [steps] if isinstance(steps, str) else steps
    if not isinstance(tags, Sequence) or not tags:
        raise ParameterTypeError(f"steps must be tags such as [{found.steps[0].tag!r}], got {format_value(steps)}")
    return replace(found, steps=select_steps(found.all_steps, tags, f"in the derivation of {found.variant}"))


def _derive_class(kind: type[Problem], measured: bool, options: Mapping[str, Any]) -> Derivation:
    """Build the derivation in symbols."""
    name = kind.__name__
    if measured:
        raise ParameterTypeError(f"a class has no result: derive({name}(X, …), result) is measured, derive({name}) not")
    problem = build_example_problem(kind, options)
    kernel = str(problem.kernel)
    text = describe_kernel(problem, options)
    steps = tuple(
        replace(step, text=step.text.replace(kernel, text), absent=step.absent.replace(kernel, text))
        for step in build_steps(problem)
    )
    return Derivation(problem, steps, all_steps=steps, display_name=describe_class(problem, options))


def _derive_problem(problem: Problem, result: SVMResult | None, alpha: ArrayLike | None, proven: bool) -> Derivation:
    """Build the derivation of a problem, measured if there is a result or an α."""
    if proven and (result is None or alpha is not None):
        raise ParameterTypeError(
            "proven=True is about the numbers of a result: derive(problem, solve(problem), proven=True), and of an α "
            "derive(problem, problem.at(alpha), proven=True)"
        )
    if not isinstance(problem, Problem):
        raise ParameterTypeError(
            f"derive takes a problem such as CSVM(X, y), or a class such as CSVM, got {type(problem).__name__}"
        )
    if alpha is None:
        if result is not None:
            check_result_matches(problem, result)
        if proven and isinstance(result, SVMResult):
            proof = problem.prove(result)
        else:
            proof = None
        return _build_derivation(problem, result, proof=proof)
    if result is not None:
        raise ParameterTypeError("derive measures at a result or at an α, not at both: leave one of them out")
    if isinstance(problem, AllInOneProblem):
        raise UnsupportedError(
            f"{type(problem).__name__} is measured at a result: derive(problem, problem.at(alpha)) takes an α"
        )
    if problem.constraints:
        raise UnsupportedError(
            "with linear constraints an α needs their multipliers: derive(problem, problem.at(alpha)) takes both, the "
            "multipliers after α"
        )
    start_or_alpha = as_finite_vector(alpha, "alpha", problem._n_dual_variables)
    return _build_derivation(problem, problem.at(start_or_alpha), start_or_alpha)


def _build_derivation(
    problem: Problem, result: Any, alpha: FloatArray | None = None, proof: Proof | None = None
) -> Derivation:
    steps = build_steps(problem)
    return Derivation(problem, steps, result, alpha, proof, steps)


# --- without data -----------------------------------------------------------------------------------------------------


def build_example_problem(kind: type[Problem], options: Mapping[str, Any]) -> Problem:
    """Build an example problem of a class, for its equations.

    Raises UnknownOptionError, ParameterTypeError, UnsupportedError; and what the class says of an option.
    """
    if inspect.isabstract(kind) or kind is Problem or kind is AllInOneProblem:
        raise UnsupportedError(f"{kind.__name__} is not a machine: derive takes a class such as CSVM, or a problem")
    taken = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", *DATA_OPTIONS)]
    for name, value in options.items():
        if name in DATA_OPTIONS:
            raise ParameterTypeError(
                f"{name} is of samples, and derive({kind.__name__}) has none: derive({kind.__name__}(X, …)) has them"
            )
        if name not in taken:
            raise UnknownOptionError(f"{kind.__name__} has no option {name!r}; {describe_nearest(name, taken)}")
        if name != "constraints" and (np.ndim(value) or isinstance(value, dict)):
            raise ParameterTypeError(
                f"without data {name} is one value, got {format_value(value)}: entries belong to samples or labels"
            )
    given = dict(options)
    X = _choose_points(given)
    if given.get("constraints") is True:
        given["constraints"] = Constraints([[1.0, 0.0]], 1.0)
    if issubclass(kind, AllInOneProblem):
        return kind(X, [0, 1, 2, 0], **given)
    return kind(*((X,) if kind._target_kind == "none" else (X, TARGETS[kind._target_kind])), **given)


def _choose_points(options: Mapping[str, Any]) -> FloatArray:
    """Choose four samples with as many features as the constraints have; for a precomputed kernel its matrix."""
    X = POINTS
    rows = options.get("constraints")
    if rows and rows is not True:
        points = getattr(rows[0] if isinstance(rows, (list, tuple)) else rows, "points", POINTS)
        X = np.resize(POINTS, (len(POINTS), points.shape[1])) + np.eye(len(POINTS), points.shape[1])
    if "kernel" in options and isinstance(as_kernel(options["kernel"]), Precomputed):
        X = POINTS @ POINTS.T + np.eye(len(POINTS))
    return X


def describe_kernel(problem: Problem, options: Mapping[str, Any]) -> str:
    """Describe the kernel as requested: only its name, if a parameter such as γ is computed from the samples."""
    text = str(problem.kernel)
    requested = options.get("kernel")
    if requested is None or str(requested) == text:
        return text
    return type(problem.kernel).__name__


def describe_class(problem: Problem, options: Mapping[str, Any]) -> str:
    """Describe the machine with the given options."""
    given = [
        f"{name} = {format_value(value)}" for name, value in options.items() if name not in ("kernel", "constraints")
    ]
    rows = ["with constraints"] if options.get("constraints") else []
    kernel = f"kernel {describe_kernel(problem, options)}"
    return ", ".join([problem.title.split(", ")[0], *given, *rows, kernel])
