"""
Inside and outside
==================

A one-class SVM learns where most samples are, an SVDD the smallest ball around most of them. ν is the share that may be
left out. With an RBF kernel both draw the same boundary; the ball of a linear kernel is one that can be seen.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import qpsvm

X = make_moons(120, noise=0.15, random_state=0)[0]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained")
problem = qpsvm.OneClass(X, nu=0.1, kernel=qpsvm.RBF(2.0))
qpsvm.plotting.novelty(problem, qpsvm.solve(problem), ax=left)

# On the right a ball: its centre is a mean of the samples on its boundary and of those outside.
problem = qpsvm.SVDD(X, nu=0.1)
qpsvm.plotting.novelty(problem, qpsvm.solve(problem), ax=right)
plt.show()
