"""
A path over C
=============

One problem for many prices, each solved from the one before it over a single Gram matrix. The width of the margin and
the number of vectors tell how the machine changes from averaging to fitting.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import qpsvm

X, y = load_breast_cancer(return_X_y=True)
problem = qpsvm.CSVM(StandardScaler().fit_transform(X), y)
prices = np.geomspace(1e-4, 10, 16)
results = qpsvm.path(problem, C=prices)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
qpsvm.plotting.path(problem, prices, show="margin", results=results, ax=axes[0])
qpsvm.plotting.path(problem, prices, show="vectors", results=results, ax=axes[1])
plt.show()
