"""
The program as a picture
========================

Q of the dual, rows in order of class and α. Two samples of one class that are near each other have a large positive
entry; two of different classes a negative one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import qpsvm

X, y = make_moons(60, noise=0.15, random_state=0)
problem = qpsvm.CSVM(X, y, C=5, kernel=qpsvm.RBF(2.0))
result = qpsvm.solve(problem)
order = np.lexsort((result.alpha, problem.y))
Q = problem.qp("dual").P.dense()[np.ix_(order, order)]

figure, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
image = ax.imshow(Q, cmap="PuOr", vmin=-1, vmax=1)
ax.set_title(r"$Q_{ij} = y_i y_j K(x_i, x_j)$")
ax.set_xlabel("sample j")
ax.set_ylabel("sample i")
figure.colorbar(image, ax=ax)
plt.show()
