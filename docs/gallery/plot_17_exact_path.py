"""
Every C at once
===============

Between two breakpoints the multipliers are linear in C, so that there is an optimum for every C and not only for those
of a grid. So is the error of cross-validation known for every C, and all values at which it is least.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(120, noise=0.35, random_state=0)
problem = qpsvm.CSVM(X, y, kernel=qpsvm.RBF(1.0))
path = qpsvm.exact_path(problem, "C", 0.05, 100)
print(path)

figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained")
qpsvm.plotting.exact_path(path, show="multipliers", ax=axes[0])
qpsvm.plotting.exact_path(path, show="margin", ax=axes[1])

found = qpsvm.cross_validate(problem, C=qpsvm.Interval(0.05, 100), folds=3)
print(found)
qpsvm.plotting.validation(found, ax=axes[2])
plt.show()
