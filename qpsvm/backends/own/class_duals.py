"""Hand the dual of several classes in one program to a solver, and return its solution (`get_class_dual`)."""

from __future__ import annotations

from qpsvm.backends.base import Backend
from qpsvm.backends.stop_reasons import translate_stop_reason
from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.all_in_one import AllInOneDual
from qpsvm.program.dual_solution import DualSolution
from qpsvm.program.svm_dual import SVMDual
from qpsvm.solvers.shared.class_solution import ClassSolution
from qpsvm.solvers.shared.row_table import find_rows_in_memory
from qpsvm.space.kernels.gram import KernelGram
from qpsvm.space.kernels.pivoted_cholesky import find_low_rank_factor
from qpsvm.space.operators import Operator, RepeatedOperator


def get_class_dual(svm: SVMDual) -> tuple[AllInOneDual, Operator]:
    """Return the rows of the dual of several classes, and the Gram matrix of the samples."""
    dual, gram = svm.classes, svm.gram
    assert dual is not None
    assert isinstance(gram, RepeatedOperator)
    return dual, gram.base


def find_class_features(gram: Operator, max_features: int) -> FloatArray | Matrix | None:
    """Find X (n, d) with the Gram matrix XXᵀ: samples in memory, or a factor of K; None if d would be larger."""
    if isinstance(gram, KernelGram) and gram.scale is None:
        return find_low_rank_factor(gram.blocks, max_features)
    X = find_rows_in_memory(gram)
    return X if X is not None and X.shape[1] <= max_features else None


def build_class_solution(backend: Backend, dual: AllInOneDual, found: ClassSolution) -> DualSolution:
    """Return what a solver found, over the rows of the dual."""
    status, reason = translate_stop_reason(found.reason)
    return DualSolution(
        status, backend.describe_solver(reason), dual.flatten_alpha(found.alpha), found.iterations,
        multipliers=dual.name_multipliers(found.b),
    )  # fmt: skip
