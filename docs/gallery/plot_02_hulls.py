"""
The dual as geometry: closest points
====================================

Maximising the dual is the search for the closest points of the two classes' convex hulls. The boundary is the bisector
of the segment between them. Where classes overlap, a bound on α shrinks the hulls until they part.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

import qpsvm

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 6.4), layout="constrained")

X, y = make_blobs(30, centers=[[-2, -1], [2, 1]], cluster_std=0.8, random_state=1)
problem = qpsvm.HardMargin(X, y)
qpsvm.plotting.hulls(problem, qpsvm.solve(problem), ax=left)

# On the right the classes overlap. No point may have more than its share of the weight, so the hulls are reduced.
X, y = make_blobs(40, centers=[[-1, -0.5], [1, 0.5]], cluster_std=0.9, random_state=2)
problem = qpsvm.NuSVM(X, y, nu=0.5)
qpsvm.plotting.hulls(problem, qpsvm.solve(problem), ax=right)
plt.show()
