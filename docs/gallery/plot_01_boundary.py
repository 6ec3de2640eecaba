"""
The boundary and the kinds of samples
=====================================

The line f = 0, the margin between f = −1 and f = +1, and the three kinds of samples: no support vector, on the margin,
at the bound.
"""

from sklearn.datasets import make_blobs

import qpsvm

X, y = make_blobs(60, centers=[[-1.2, -1.0], [1.2, 1.0]], cluster_std=1.0, random_state=3)
problem = qpsvm.CSVM(X, y, C=1)
result = qpsvm.solve(problem)
ax = qpsvm.plotting.boundary(problem, result)
