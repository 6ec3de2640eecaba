"""
A fan of quantiles
==================

Five machines on the same samples, whose spread grows with x. Below the curve of τ lies a share τ of them, as near as
whole samples can be.
"""

import numpy as np

import qpsvm

rng = np.random.default_rng(0)
X = rng.uniform(0, 3, (150, 1))
t = X[:, 0] * (1 + 0.4 * rng.normal(size=150))
problems = [qpsvm.QuantileSVR(X, t, C=20, quantile=tau, kernel=qpsvm.RBF(0.3)) for tau in (0.05, 0.25, 0.5, 0.75, 0.95)]
ax = qpsvm.plotting.quantiles(problems, [qpsvm.solve(problem) for problem in problems])
