"""
Who supports, and with what force
=================================

α of each sample, the largest first. Peripheral samples have none. Those at the bound pull with all that their price
allows.
"""

from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.3, random_state=0)
problem = qpsvm.CSVM(X, y, C=2, kernel=qpsvm.RBF(1.0))
ax = qpsvm.plotting.multipliers(problem, qpsvm.solve(problem))
