"""What was printed: documentation and tutorials, whose numbers can be judged without their software."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from exhibits import Shown, excess, exhibit, solve_timed

import qpsvm
from qpsvm import estimators

SPARK = "https://github.com/apache/spark/pull/32124"
LESSON = Path(__file__).resolve().parents[2] / "notebooks" / "6_seeds.ipynb"


def spark(coefficients: list[float], intercept: float) -> Shown:
    """The objective that Spark documents, at what its documentation prints: (λ/2)‖w‖² + mean hinge, features / σ."""
    X = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    y = np.array([1, 0])
    lam = 0.01
    deviation = X.std(axis=0, ddof=1)
    moving = deviation > 0  # the first feature is constant: Spark leaves it out, with weight 0
    Z = X[:, moving] / deviation[moving]
    ours, our_seconds = solve_timed(qpsvm.PrimalHinge(Z, y, lam=lam))
    w = np.array(coefficients) * deviation[moving]
    s = np.array([1.0, -1.0])
    above = excess(0.5 * lam * w @ w + float(np.maximum(0.0, 1.0 - s * (Z @ w + intercept)).mean()), ours)
    best = ours.w / deviation[moving]
    right = np.allclose(best, [-1.0, -0.5]) and abs(ours.b - 2.5) < 1e-6  # by hand: both samples are on the margin
    return Shown(above > 0.01, f"coefficients {coefficients}", above, 0.0, ours, our_seconds, bool(right))


@exhibit(SPARK, 2021, "published", package="")
def spark_now() -> Shown:
    """The example of `LinearSVC`, two samples, in the documentation since Spark 3.2."""
    return spark([-1.0319, -0.5159], 2.579645978780695)


@exhibit(SPARK, 2017, "published", package="")
def spark_then() -> Shown:
    """The same example before."""
    return spark([-0.2792, -0.1833], 1.0206118982229047)


@exhibit("https://github.com/NVIDIA/cuml/issues/8578", 2026, "published", package="")
def cuml_class_weight() -> Shown:
    """Three classes with weights: `cuml.svm.SVC` calls every point the last class. Judged without a graphics card.

    The predictions are those of the thread. What it names as the reason is rebuilt: in each pair the classes were
    called 0 and 1, and weighed as the classes of these names.
    """
    X = np.arange(6.0).repeat(2).reshape(6, 2)
    y = np.repeat([0, 1, 2], 2)
    weight = {0: 0.1, 1: 10.0, 2: 0.5}
    rows = [0, 3, 5]
    printed = [2, 2, 2]
    kernel = qpsvm.RBF(1.0 / (2.0 * X.var()))
    votes = np.zeros((3, 3), dtype=int)
    renamed = np.zeros((3, 3), dtype=int)
    gaps = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        pair = (y == first) | (y == second)
        later = y[pair] == second

        def machine(low: float, high: float, pair: np.ndarray = pair, later: np.ndarray = later) -> qpsvm.CSVM:
            return qpsvm.CSVM(X[pair], later, 1.0, kernel, sample_weight=np.where(later, high, low))

        meant = machine(weight[first], weight[second])
        ours, our_seconds = solve_timed(meant)
        wrong, _ = solve_timed(machine(weight[0], weight[1]))
        gaps.append(float(meant.at(wrong.alpha).gap))
        for found, result in ((votes, ours), (renamed, wrong)):
            found[range(3), np.where(result.decision_function(X[rows]) > 0, second, first)] += 1
    fails = votes.argmax(axis=1).tolist() != printed
    twin = estimators.SVC(class_weight=weight).fit(X, y)
    right = votes.argmax(axis=1).tolist() == [1, 1, 2] == twin.predict(X[rows]).tolist()
    because = renamed.argmax(axis=1).tolist() == printed
    return Shown(fails, f"predictions {printed}", max(gaps), 0.0, ours, our_seconds, right, because)


def lesson() -> str:
    """The notebook in which five published tutorials are worked through again, as text."""
    return LESSON.read_text(encoding="utf-8")
