"""`multi_class="crammer_singer"` and `"weston_watkins"`: one program over all classes, in the form of many machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.errors import UnsupportedError
from qpsvm.joint_result import JointResult
from qpsvm.kernels.functions import Kernel
from qpsvm.kernels.indefinite import Intercept, PSDRule
from qpsvm.multiclass import Together
from qpsvm.multiclass.one_by_one import without_noise
from qpsvm.multiclass.split import REST
from qpsvm.multiclass.together import Results
from qpsvm.problems import CrammerSinger, WestonWatkins
from qpsvm.problems.joint import JointProblem
from qpsvm.solve import solve

#: The machines that learn several classes in one program.
JOINT: dict[str, type[JointProblem]] = {"crammer_singer": CrammerSinger, "weston_watkins": WestonWatkins}


def solve_joint(
    X: Matrix,
    codes: IntArray,
    labels: NDArray[Any],
    *,
    machine: str,
    C: float,
    kernel: Kernel,
    sample_weight: FloatArray | None,
    psd: PSDRule,
    intercept: Intercept,
    constraints: Any,
    start: Any,
    options: Mapping[str, Any],
) -> Together:
    """One program over all classes.

    Raises UnsupportedError, QPSVMError.
    """
    if constraints is not None:
        raise UnsupportedError(f"multi_class={machine!r} takes no constraints: use machines of two classes")
    problem = JOINT[machine](X, labels[codes], C, kernel, sample_weight, psd, intercept, None)
    before = start.results[0] if isinstance(start, Together) else None
    same = isinstance(before, JointResult) and before.coef.shape == (len(codes), len(labels))
    result: Any = solve(problem, start=before if same else None, **{**options, "check": False})
    if result.error is not None:
        raise result.error
    return _told(without_noise(problem, result, float(options["tol"])), labels)


def _told(result: JointResult, labels: NDArray[Any]) -> Together:
    coef, b, w = result.coef.T, np.asarray(result.b), result.model.w
    pairs = np.array([(c, REST) for c in range(len(labels))])
    if len(labels) == 2:
        coef, b, pairs = (coef[1] - coef[0])[None, :], b[1:] - b[:1], np.array([(0, 1)])
        w = None if w is None else (w[1] - w[0])[None, :]
    return Together(
        classes=labels, machines=pairs, coef=sp.csr_array(coef), b=b, w=w, gap=np.array([result.gap]),
        status=[result.status], iterations=np.array([result.iterations or 0]), solver=result.solver,
        message=result.message, rho=np.ones(len(pairs)), results=Results(1, None, {0: result}),  # type: ignore[dict-item]
    )  # fmt: skip
