"""
What the price C changes
========================

One outlier, two prices. With a small C the machine keeps its wide margin and pays for the outlier. With a large C it
bends.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

import qpsvm

X, y = make_blobs(40, centers=[[-2, 0], [2, 0]], cluster_std=0.7, random_state=0)
X = np.vstack([X, [[0.9, -0.4]]])
y = np.append(y, 0)

figure, axes = plt.subplots(1, 2, figsize=(11, 5.4), layout="constrained")
for ax, C in zip(axes, (0.1, 1000), strict=True):
    problem = qpsvm.CSVM(X, y, C=C)
    result = qpsvm.solve(problem)
    qpsvm.plotting.boundary(problem, result, ax=ax)
    ax.set_title(f"C = {C:g}: margin {2 / np.linalg.norm(result.w):.2f}, {len(result.at_bound)} at the bound")
plt.show()
