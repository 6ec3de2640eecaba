"""
Every C at once
===============

Between two breakpoints the multipliers are linear in C, so that there is an optimum for every C and not only for those
of a grid. So is the error on other samples known for every C, and all values at which it is least.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(120, noise=0.35, random_state=0)
problem = qpsvm.CSVM(X[:60], y[:60], kernel=qpsvm.RBF(1.0))
path = qpsvm.exact_path(problem, "C", 0.05, 100)
print(path)

figure, axes = plt.subplots(2, 2, figsize=(11, 9.6), layout="constrained")
qpsvm.plotting.exact_path(path, show="multipliers", ax=axes[0, 0])
qpsvm.plotting.exact_path(path, show="margin", ax=axes[0, 1])
qpsvm.plotting.exact_path(path, show="error", X=X[60:], y=y[60:], ax=axes[1, 0])

whole = qpsvm.CSVM(X, y, kernel=qpsvm.RBF(1.0))
found = qpsvm.cross_validate(whole, C=qpsvm.Interval(0.05, 100), folds=3)
print(found)
qpsvm.plotting.validation(found, ax=axes[1, 1])
plt.show()
