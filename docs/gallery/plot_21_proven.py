"""
Labels that every optimum gives
===============================

A certified gap holds every exact optimum in a ball around the result. Where all of the ball predicts one label, that
label is proven: no solver that is right says another. What is open is a strip along the boundary, and a smaller gap
makes it narrower.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(150, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=1, kernel=qpsvm.RBF(1.0))
best = qpsvm.solve(problem, tol=1e-12)
across, up = np.meshgrid(np.linspace(-2.2, 3.2, 160), np.linspace(-1.8, 2.2, 120))
plane = np.column_stack([across.ravel(), up.ravel()])
f = best.decision_function(plane).reshape(across.shape)

figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.9), layout="constrained", sharey=True)
for ax, share in zip(axes, (1e-2, 1e-4, 1e-6), strict=True):
    result = problem.at((1 - share) * best.alpha)  # as a solver that stops early leaves it
    proven = result.proven(plane).reshape(across.shape)
    shown = np.where(proven, np.sign(f), 0.0)
    ax.contourf(across, up, shown, [-1.5, -0.5, 0.5, 1.5], colors=["#f6d5c1", "#8c8c8c", "#c1dcec"])
    ax.contour(across, up, f, [0.0], colors="black", linewidths=1)
    for label, marker, colour in ((0, "^", "#d55e00"), (1, "o", "#0072b2")):
        ax.plot(*X[y == label].T, marker, color=colour, markersize=3)
    ax.set(title=f"gap {result.gap:.0e}: {proven.mean():.0%} proven", xticks=[], yticks=[])
plt.show()
