"""
Strong duality
==============

On the way from α = 0 to the optimum every feasible α gives a primal and a dual value. The primal values come from
above, the dual values from below, and they meet in one point.
"""

from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=2, kernel=qpsvm.RBF(1.0))
ax = qpsvm.plotting.duality(problem, qpsvm.solve(problem))
