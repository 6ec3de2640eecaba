"""Find hints about a result, such as features of different scales (`find_hints`).

A hint is a fact about the data or the result, with advice: an option of the command line and, in brackets, of Python.
Results show hints in `notes` and `summary`, estimators in `notes_`, the command line after its output. Hints do not
change the result. To be cheap, they scan at most `ROWS` evenly spaced samples, and `KERNEL_ROWS` for kernel values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from qpsvm.base.arrays.constant_vectors import find_common_value
from qpsvm.base.arrays.types import FloatArray, as_dense
from qpsvm.result.solved_problem import SolvedProblem
from qpsvm.space.kernels.functions import Precomputed

#: Largest number of rows whose features are scanned.
ROWS = 10_000
#: Largest number of rows between which kernel values are computed.
KERNEL_ROWS = 64
#: Smallest ratio of the ranges of two features for a hint.
MIN_SCALE_RATIO = 1e6
#: A kernel whose values differ by less than this fraction of the largest counts as constant.
MIN_KERNEL_SPREAD = 1e-3
#: A balanced accuracy that exceeds that of a random guess by at most this counts as a guess.
GUESS_TOL = 0.02
#: Largest number of classes named in a hint.
MAX_NAMED_CLASSES = 3
#: With fewer rows (per class, or in all) the fact may be due to chance, and no hint is given.
MIN_ROWS = 10


@dataclass(frozen=True)
class Hint:
    """A fact about a result, and advice.

    kind: "scale", "constant kernel", "labels", "bound" or "worse"; at most one hint of each kind is given.
    """

    kind: str
    fact: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.fact}. Try {self.advice}" if self.advice else self.fact


def find_hints(result: Any, names: Sequence[str] | None = None) -> list[Hint]:
    """Return the hints for a result with its problem; an empty list if it is from a file, or one of many machines."""
    problem = result.problem  # of one of many machines, a function that builds it
    if problem is None or callable(problem) or not result.gap < np.inf:
        return []
    names = result.model.feature_names if names is None else names
    hints = find_sample_hints(problem.X, problem.kernel, names)
    if any(hint.kind == "constant kernel" for hint in hints):
        return hints  # other hints would be consequences of this one
    if len(problem.active_rows) < MIN_ROWS:
        return hints
    if problem._target_kind == "labels":
        is_weighted = find_common_value(problem.samples.weight) is None
        hints += find_confusion_hints(_count_training_confusion(problem, result), problem.classes, is_weighted)
    return [*hints, *_find_bound_hints(problem, result)]


def find_sample_hints(X: Any, kernel: Any, names: Sequence[str] | None = None) -> list[Hint]:
    """Return hints on features out of scale, and on a nearly constant kernel; none if X (n, d) is not in memory."""
    if isinstance(kernel, Precomputed) or not (isinstance(X, np.ndarray) or sp.issparse(X)) or X.shape[0] < 2:
        return []
    if X.shape[1] < 2:
        hints = []
    else:
        hints = _find_scale_hints(X[:: -(-X.shape[0] // ROWS)], names)
    gamma = getattr(kernel, "gamma", None)
    if isinstance(gamma, (int, float)):
        subset = X[np.unique(np.linspace(0, X.shape[0] - 1, KERNEL_ROWS).astype(int))]
        K = np.asarray(kernel(subset, subset))
        spread = float(np.ptp(K))
        largest_value = float(np.abs(K).max())
        samples_vary = np.ptp(as_dense(subset), axis=0).any()
        if samples_vary and spread < MIN_KERNEL_SPREAD * largest_value:
            share = f"{spread / largest_value:.0e} of their size"
            fact = f"gamma = {gamma:.2g} makes the kernel nearly constant: its values differ by {share}"
            hints.append(Hint("constant kernel", fact, "a larger one, or --gamma scale (gamma='scale')"))
    return hints


def _find_scale_hints(X: Any, names: Sequence[str] | None) -> list[Hint]:
    """Return a hint on features of very different ranges."""
    if sp.issparse(X):
        width = X.max(axis=0).toarray().ravel() - X.min(axis=0).toarray().ravel()
    else:
        width = X.max(axis=0) - X.min(axis=0)
    varies = np.flatnonzero(width > 0.0)
    if len(varies) < 2:
        return []
    narrowest, widest = (int(varies[pick(width[varies])]) for pick in (np.argmin, np.argmax))
    ratio = float(width[widest]) / float(width[narrowest])
    if not ratio >= MIN_SCALE_RATIO:
        return []
    wide, narrow = (repr(names[j]) if names is not None else f"feature {j}" for j in (widest, narrowest))
    fact = f"{wide} varies {ratio:.0e} times as much as {narrow}, which has almost no influence next to it"
    return [Hint("scale", fact, "--standardise (StandardScaler)")]


def find_label_hints(true: NDArray[Any], predicted: NDArray[Any], is_weighted: bool = False) -> list[Hint]:
    """Return the hints of `find_confusion_hints` from labels: (n,) each."""
    classes, codes = np.unique(np.concatenate([true, predicted]), return_inverse=True)
    return find_confusion_hints(
        _count_confusion(codes[: len(true)], codes[len(true) :], len(classes)), classes, is_weighted
    )


def _count_confusion(true: NDArray[Any], predicted: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the confusion matrix (k, k), with one row per true class."""
    return np.bincount(true * k + predicted, minlength=k * k).reshape(k, k)


def find_confusion_hints(counts: NDArray[np.intp], classes: NDArray[Any], is_weighted: bool = False) -> list[Hint]:
    """Return hints on a class that is never predicted, and on predictions no better than a guess.

    is_weighted: Whether classes already have weights; if not, the advice includes them.

    Shapes: counts (k, k), with one row per true class; classes (k,).
    """
    n = int(counts.sum())
    n_true = counts.sum(axis=1)
    n_predicted = counts.sum(axis=0)
    if n < 2:
        return []
    advice = "another C, or another kernel"
    if not is_weighted:
        advice = "--class-weight balanced (class_weight='balanced'), a larger C, or another kernel"
    if (n_predicted == n).any():
        only = int(n_predicted.argmax())
        share = f"the accuracy of {n_true[only] / n:.4f} is the share of that class"
        return [Hint("labels", f"every row is predicted {classes[only]}: {share}", advice)]
    absent = (n_true > 0) & (n_predicted == 0)
    if absent.any():
        absent_labels = [str(label) for label in classes[absent]]
        named = " or ".join(absent_labels)
        if len(absent_labels) > MAX_NAMED_CLASSES:
            named = f"{len(absent_labels)} of the {len(classes)} classes"
        return [Hint("labels", f"no row is predicted {named}, and {int(n_true[absent].sum())} rows are", advice)]
    present = np.flatnonzero(n_true)
    balanced_accuracy = float(np.mean(counts[present, present] / n_true[present]))
    if len(present) > 1 and n_true[present].min() >= MIN_ROWS and balanced_accuracy <= 1.0 / len(present) + GUESS_TOL:
        fact = f"nothing is learnt: the balanced accuracy of {balanced_accuracy:.4f} is that of a random guess"
        return [Hint("labels", fact, "another kernel or C, or other features")]
    return []


def _count_training_confusion(problem: SolvedProblem, result: Any) -> NDArray[np.intp]:
    """Return the confusion matrix of the active training samples: (k, k)."""
    rows = problem.active_rows
    k = len(problem.classes)
    if result.coef.ndim > 1:
        labels = problem.samples.target[rows].astype(np.intp)
        differences: FloatArray = -result.yf[rows]  # f_c − f_y
        return _count_confusion(labels, differences.argmax(axis=1), k)
    is_positive = problem.samples.target[rows] > 0.0
    yf = result.yf[rows]
    is_positive_f = np.where(is_positive, yf > 0.0, yf < 0.0)  # f = 0 is on the side of the smaller label
    return _count_confusion(is_positive.astype(np.intp), is_positive_f.astype(np.intp), k)


def _find_bound_hints(problem: SolvedProblem, result: Any) -> list[Hint]:
    """Return a hint on a too small penalty of slack: no free α, and all α of a class or a regression at bound."""
    parameters, kind = problem._hyperparameters, problem._target_kind
    penalty = next((name for name in parameters if name in ("C", "lam")), None)
    has_free = (result.kind == 1).any()  # the kinds are 0 for α = 0, 1 for a free α, and 2 for α at its bound
    if penalty is None or has_free or "nu" in parameters or kind not in ("labels", "numbers"):
        return []
    rows = problem.active_rows
    is_at_bound = result.kind[rows] == 2
    is_at_bound = is_at_bound.any(axis=1) if is_at_bound.ndim > 1 else is_at_bound  # all-in-one: (n, k)
    has_curvature = np.any(getattr(result, "curvature", 0.0)) or not np.isfinite(result.upper).all()
    groups = [np.ones(len(rows), dtype=bool)]
    if kind == "labels" and result.coef.ndim == 1:
        groups = [problem.samples.target[rows] > 0.0, problem.samples.target[rows] < 0.0]
    if has_curvature or not any(is_at_bound[group].all() for group in groups):
        return []
    advice = "a larger --C (C)" if penalty == "C" else "a smaller --lam (lam)"
    return [
        Hint("bound", "every support vector is at its bound and none on the margin: slack costs too little", advice)
    ]
