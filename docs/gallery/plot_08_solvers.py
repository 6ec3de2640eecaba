"""
How solvers approach the optimum
================================

The certified gap after so many iterations, for methods that have little in common. Interior points need a dozen steps,
and each of them factorises a matrix. OSQP factorises once, and needs hundreds of steps. The textbook's first-order
methods need thousands of cheap ones.
"""

import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(60, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=5, kernel=qpsvm.RBF(1.0))


def history(backend: str, iterations: list[int], **settings: float) -> list[tuple[int, float]]:
    """The certified gap of runs that are ended after so many iterations."""
    settings |= {"tol": 1e-12, "polish": False, "check": False}
    return [(k, qpsvm.solve(problem, backend, max_iter=k, **settings).gap) for k in iterations]


many = np.unique(np.geomspace(1, 3000, 14).astype(int)).tolist()
ax = qpsvm.plotting.gap(
    {
        "interior_point": history("interior_point", list(range(1, 15))),
        "osqp": history("osqp", [25, 50, 100, 200, 300, 400], eps_abs=1e-12, eps_rel=1e-12),
        "dual_ascent": history("dual_ascent", many),
        "subgradient": history("subgradient", many),
    },
    tol=1e-6,
)
ax.set_xscale("log")
