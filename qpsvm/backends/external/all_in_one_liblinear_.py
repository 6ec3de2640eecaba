"""LIBLINEAR's solver 4 on a linear Crammer-Singer machine: from its w the exact split of the rows is read off."""

from __future__ import annotations

import warnings

import numpy as np

from qpsvm.base.arrays.types import FloatArray, Matrix
from qpsvm.program.all_in_one import JointDual

#: Its tolerance and its passes, and the products in them that are worth waiting for.
TOLERANCE, PASSES, MOST_PRODUCTS = 1e-8, 1000, 2e10


def takes(dual: JointDual, X: Matrix) -> bool:
    """Whether it is LIBLINEAR's machine, over as many samples as it is quick for."""
    own = dual.shared and dual.intercept != "free" and dual.k > 2 and dual.level == 1.0
    return own and PASSES * float(X.shape[0] * X.shape[1]) * dual.k <= MOST_PRODUCTS


def missing_at_liblinear(dual: JointDual, X: Matrix) -> FloatArray:
    """t (n, k) at the w that LIBLINEAR ends with: `LinearSVC(multi_class="crammer_singer")`."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm._classes import LinearSVC  # not sklearn.svm, which may be patched

    machine = LinearSVC(
        multi_class="crammer_singer", C=1.0, tol=TOLERANCE, max_iter=PASSES, random_state=0,
        fit_intercept=dual.intercept == "penalised",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, dual.label, sample_weight=dual.upper)
    f: FloatArray = np.asarray(X @ machine.coef_.T + machine.intercept_, dtype=np.float64)
    return dual.missing(f)
