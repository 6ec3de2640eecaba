"""
Three prices of slack
=====================

What a sample inside its margin costs, and where that leaves the boundary when one sample lies far on the wrong side.
The hinge costs as much for every unit. Its square follows the outlier. Huber's hinge is a square up to its width, and
no steeper than the hinge beyond it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import qpsvm

X, y = make_blobs(40, centers=[[-2, 0], [2, 0]], cluster_std=0.8, random_state=0)
X = np.vstack([X, [[5.0, -3.0]]])
y = np.append(y, 0)

machines = {
    "hinge: C-SVM": qpsvm.CSVM(X, y, C=1),
    "squared hinge": qpsvm.SquaredHinge(X, y, C=0.5),
    "Huber's hinge, h = 1": qpsvm.HuberHinge(X, y, C=1, width=1),
}
figure, grid = plt.subplots(2, 2, figsize=(11, 10), layout="constrained")
axes = grid.ravel()
t = np.linspace(-0.5, 3, 300)
short = np.maximum(t, 0)
losses = (short, short**2 / 2, np.where(short <= 1, short**2 / 2, short - 0.5))
for (name, problem), loss, style, ax in zip(machines.items(), losses, ("-", "--", ":"), axes[1:], strict=True):
    axes[0].plot(t, loss, style, color="black", label=name)
    result = qpsvm.solve(problem)
    qpsvm.plotting.boundary(problem, result, ax=ax)
    ax.set_title(f"{name}: w = ({result.w[0]:.2f}, {result.w[1]:.2f})")
axes[0].set(xlabel="missing to the margin, 1 − y f", ylabel="price", title="what slack costs", ylim=(-0.1, 4))
axes[0].legend()
plt.show()
