"""
A boundary with rows of your own
================================

Beside the free boundary stands one that rises with the horizontal feature: values of f at pairs of points are in order.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.25, random_state=1)
grid = np.array([[a, b] for a in np.linspace(-1.5, 2.0, 8) for b in np.linspace(-1.0, 1.5, 6)])
rising = qpsvm.ValueConstraints.monotone(grid, 0, step=0.5)

figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
for ax, rows, title in zip(axes, (None, rising), ("free", "rising to the right"), strict=True):
    problem = qpsvm.CSVM(X, y, C=5, kernel=qpsvm.RBF(1.0), constraints=rows)
    result = qpsvm.solve(problem)
    qpsvm.plotting.boundary(problem, result, ax=ax)
    ax.set_title(f"{title}: objective {result.primal:.1f}")
plt.show()
