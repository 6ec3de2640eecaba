"""
A tube around a curve
=====================

Samples inside the tube cost nothing and have no part in the curve. Those on its edge hold it, and those beyond it pull
with C, no harder, however far away they are: the absolute loss shrugs off an outlier that the squared one follows.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(-3, 3, (70, 1)), axis=0)
t = np.sin(1.5 * X[:, 0]) + 0.2 * rng.normal(size=70)
t[20] += 3.0

figure, axes = plt.subplots(1, 3, figsize=(16, 5), layout="constrained")
kernel = qpsvm.RBF(0.7)
for ax, problem in zip(
    axes,
    (
        qpsvm.EpsilonSVR(X, t, C=5, epsilon=0.3, kernel=kernel),
        qpsvm.EpsilonSVR(X, t, C=5, epsilon=0.3, loss="squared", kernel=kernel),
        qpsvm.NuSVR(X, t, C=5, nu=0.2, kernel=kernel),
    ),
    strict=True,
):
    qpsvm.plotting.tube(problem, qpsvm.solve(problem), ax=ax)
plt.show()
