"""
Three kernels on two moons
==========================

The same samples and the same price. The kernel decides which functions the machine may choose from.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(80, noise=0.15, random_state=0)
kernels = {"linear": qpsvm.Linear(), "cubic": qpsvm.Polynomial(3, 1.0, 1.0), "RBF": qpsvm.RBF(2.0)}

figure, axes = plt.subplots(1, 3, figsize=(13, 4.4), layout="constrained")
for ax, (name, kernel) in zip(axes, kernels.items(), strict=True):
    problem = qpsvm.CSVM(X, y, C=10, kernel=kernel)
    result = qpsvm.solve(problem)
    qpsvm.plotting.boundary(problem, result, legend=False, ax=ax)
    ax.set_title(f"{name}: {len(result.support)} support vectors")
plt.show()
