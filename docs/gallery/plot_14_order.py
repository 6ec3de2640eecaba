"""
A direction that keeps an order
===============================

Samples have grades, and the machine sees nothing but which of two is better. Its w is the direction along which they
are in order; the lines across it are scores 1 apart.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 2))
grades = np.clip(np.round(2.5 + X @ [1.0, 0.6] + rng.normal(0, 0.4, 45)), 1, 4)

problem = qpsvm.Ranking(X, grades, C=1)
result = qpsvm.solve(problem)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
side = np.linspace(-3, 3, 100)
plane = np.stack(np.meshgrid(side, side), axis=-1)
f = result.decision_function(plane.reshape(-1, 2)).reshape(100, 100)
levels = np.arange(np.floor(f.min()), np.ceil(f.max()) + 1)
left.contour(side, side, f, levels=levels, colors="0.7", linewidths=0.8)
points = left.scatter(*X.T, c=grades, cmap="cividis", edgecolor="black", zorder=3)
arrow = result.w / np.linalg.norm(result.w)
left.annotate("w", xy=2 * arrow, xytext=(0, 0), arrowprops={"arrowstyle": "->", "lw": 2}, fontsize=14)
left.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", title=f"{len(problem.pairs)} pairs")
figure.colorbar(points, ax=left, label="grade", ticks=[1, 2, 3, 4])

scores = result.predict(X)
right.scatter(scores, grades + rng.uniform(-0.15, 0.15, 45), c=grades, cmap="cividis", edgecolor="black")
right.set(xlabel="score f(x)", ylabel="grade", yticks=[1, 2, 3, 4])
right.set_title(f"{problem.concordance(scores):.1%} of the pairs are in order")
plt.show()
