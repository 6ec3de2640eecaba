"""
Several classes
===============

Pairs of machines vote, and one program has all classes at once. Both are drawn the same way: which class is predicted
where, and the support vectors. Of any number of features, a confusion matrix says which class is taken for which.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import qpsvm
from qpsvm.estimators import SVC

data = load_iris()
X, y = data.data[:, 2:], data.target_names[data.target]
names = data.feature_names[2:]

figure, axes = plt.subplots(1, 3, figsize=(15, 5.6), layout="constrained")
pairs = SVC(C=10, gamma=1.0).fit(X, y)
rings = [i in set(pairs.support_) for i in range(len(X))]
qpsvm.plotting.regions(pairs, X, y, names=names, support=rings, title="pairs, RBF", ax=axes[0])

problem = qpsvm.CrammerSinger(X, y, C=10)
qpsvm.plotting.boundary(problem, qpsvm.solve(problem), names=names, ax=axes[1])

whole = SVC(kernel="linear", C=0.01).fit(data.data, y)
qpsvm.plotting.confusion(y, whole.predict(data.data), title="all four features, C = 0.01", ax=axes[2])
plt.show()
