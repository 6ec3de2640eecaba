"""
The dual of two multipliers
===========================

Without intercept two samples have two multipliers and nothing that binds them but the box, so all of the dual can be
seen: level lines of D, the box, and the ways of two methods to the top. Projected ascent follows the slope; coordinate
ascent moves one multiplier at a time to the best value that the box allows. The slope of D at the top is 0 for a
multiplier inside of the box and positive for one at its bound: it is the multiplier of that bound, the slack ξ.
"""

import matplotlib.pyplot as plt
import numpy as np

import qpsvm

C = 0.8
problem = qpsvm.CSVM([[1.0, 0.4], [-0.2, -0.9]], [1, -1], C=C, intercept=None)
result = qpsvm.solve(problem)
Q = problem.qp("dual").P.dense()


def value(alpha: np.ndarray) -> np.ndarray:
    """D for multipliers (..., 2)."""
    return alpha.sum(axis=-1) - 0.5 * np.einsum("...i,ij,...j", alpha, Q, alpha)


projected = [np.array([0.05, 0.7])]
coordinates = [projected[0]]
for k in range(30):
    slope = 1.0 - Q @ projected[-1]
    projected.append(np.clip(projected[-1] + 0.25 * slope, 0.0, C))
    alpha = coordinates[-1].copy()
    i = k % 2
    alpha[i] = np.clip(alpha[i] + (1.0 - Q[i] @ alpha) / Q[i, i], 0.0, C)
    coordinates.append(alpha)

grid = np.stack(np.meshgrid(*[np.linspace(-0.1, 1.3 * C, 200)] * 2), axis=-1)
fig, ax = plt.subplots(layout="constrained")
ax.contour(*np.moveaxis(grid, -1, 0), value(grid), levels=14, colors="0.6", linewidths=0.8)
ax.add_patch(plt.Rectangle((0, 0), C, C, facecolor="#0072B2", alpha=0.1, edgecolor="black", linestyle="--"))
ax.plot(*np.array(projected).T, "o-", color="#D55E00", markersize=4, label="projected ascent")
ax.plot(*np.array(coordinates).T, "s-", color="#0072B2", markersize=4, label="one multiplier at a time")
slope = " and ".join(f"{each:.2f}" for each in 1.0 - Q @ result.alpha)
ax.plot(*result.alpha, "*", color="black", markersize=14, label=f"optimum, where D has the slopes {slope}")
ax.set(xlabel=r"$\alpha_1$", ylabel=r"$\alpha_2$", aspect="equal", title="level lines of D, and the box")
ax.legend(loc="lower right")
