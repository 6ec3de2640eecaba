"""
The gap as an area
==================

Primal and dual value of a solver's points, iteration by iteration. The optimum lies between them, so the area between
the curves is what is not known yet. Each point is that of a run which was ended there, certified as it stands.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(60, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=5, kernel=qpsvm.RBF(1.0))
optimum = qpsvm.solve(problem).primal
ends = {"dual_ascent": np.unique(np.geomspace(1, 1000, 24).astype(int)), "interior_point": np.arange(1, 15)}

fig, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 4), layout="constrained")
for ax, (backend, counts) in zip(axes, ends.items(), strict=True):
    runs = [qpsvm.solve(problem, backend, max_iter=int(k), tol=1e-12, polish=False, check=False) for k in counts]
    primal, dual = ([getattr(run, name) for run in runs] for name in ("primal", "dual"))
    ax.fill_between(counts, dual, primal, color="0.8", label="what is not known yet")
    ax.plot(counts, primal, "o-", color="#0072B2", markersize=3, label="primal value")
    ax.plot(counts, dual, "s-", color="#D55E00", markersize=3, label="dual value")
    ax.axhline(optimum, color="black", linestyle=":", label="optimum")
    ax.set(title=backend, xlabel="iterations", ylim=(0.4 * optimum, 1.8 * optimum))
axes[0].set_xscale("log")
axes[0].set_ylabel("value of the objective")
axes[1].legend()
