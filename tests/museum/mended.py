"""What the peers have mended: the exhibit holds that it stays so."""

from __future__ import annotations

import numpy as np
from exhibits import Shown, exhibit, issue, solve_timed, time_call
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import qpsvm


@exhibit(issue(13557), 2019, "published", mended="scikit-learn 1.1")
def svc_overflow() -> Shown:
    """Kernel values of 1e40: fits hung at random, now there is an error. Ours is not optimal, and says so."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0], y[y > 0]
    C, degree, gamma = 0.6652997139930452, 7, 4178.386000737241

    def fit_model() -> str:
        try:
            model = SVC(C=C, kernel="poly", degree=degree, gamma=gamma, max_iter=100_000).fit(X, y)
        except ValueError as error:
            return str(error)
        return "ended" if model.fit_status_ == 0 else "no end"

    said, seconds = time_call(fit_model)
    ours, our_seconds = solve_timed(qpsvm.CSVM(X, y, C, qpsvm.Polynomial(degree, gamma, 0.0)))
    honest = ours.status is qpsvm.Status.OPTIMAL or (np.isfinite(ours.gap) and ours.gap > 1e-6)
    return Shown(
        said in ("ended", "no end"), f"ValueError: {said}", float("nan"), seconds, ours, our_seconds, bool(honest)
    )
