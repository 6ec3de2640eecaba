"""
A grid, cross-validated
=======================

Nineteen prices by seven widths of the kernel, on five folds: 665 machines, each certified. All folds take their parts
of seven Gram matrices, and each machine begins at those with the next smaller prices.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(300, noise=0.35, random_state=0)
problem = qpsvm.CSVM(X, y, kernel="rbf")
prices, widths = np.geomspace(1e-2, 1e3, 19), np.geomspace(0.01, 30, 7)
grid = qpsvm.cross_validate(problem, C=prices, gamma=widths)
curve = qpsvm.cross_validate(problem, C=prices)
print(grid.best, f"{grid.best_score:.3f}; largest gap {grid.gaps.max():.1e}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
qpsvm.plotting.scores(grid, ax=axes[0])
qpsvm.plotting.scores(curve, ax=axes[1])
plt.show()
