"""
Decision values of any number of features
=========================================

Thirty features have no plane to draw a boundary in, but each sample has a decision value. Each class has an area of
one, so that a rare one is seen too. Of breast_cancer's tumours, thinned out until few are malignant, a machine to which
all samples count alike calls most of the malignant ones benign; where both classes weigh the same, it does not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import qpsvm

data = load_breast_cancer()
rare = np.flatnonzero(data.target == 0)[::10]
rows = np.sort(np.concatenate([rare, np.flatnonzero(data.target == 1)]))
X, y = StandardScaler().fit_transform(data.data[rows]), data.target_names[data.target[rows]]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained", sharey=True)
for ax, class_weight in zip(axes, (None, "balanced"), strict=True):
    problem = qpsvm.CSVM(X, y, C=1e-3, class_weight=class_weight)
    qpsvm.plotting.decisions(problem, qpsvm.solve(problem), ax=ax)
plt.show()
