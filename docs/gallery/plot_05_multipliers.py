"""
Who supports, and with what force
=================================

α of each sample, the largest first. It is 0 for samples that are no support vectors, and C at the bound.
"""

from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=2, kernel=qpsvm.RBF(1.0))
ax = qpsvm.plotting.multipliers(problem, qpsvm.solve(problem))
