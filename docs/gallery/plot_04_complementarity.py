"""
Complementary slackness, drawn
==============================

At the optimum every sample lies on a path of three straight pieces: α = 0 and y f ≥ 1, then y f = 1, then α = C and
y f ≤ 1. On the left a solver's own point, on the right the same after polishing.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(120, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=5, kernel=qpsvm.RBF(1.0))
rough = qpsvm.solve(problem, backend="dual_ascent", max_iter=300, polish=False, check=False)
polished = qpsvm.solve(problem)

figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
for ax, result, name in zip(axes, (rough, polished), ("300 steps of dual ascent", "polished"), strict=True):
    qpsvm.plotting.complementarity(problem, result, ax=ax)
    ax.set_title(f"{name}: gap {result.gap:.0e}")
plt.show()
