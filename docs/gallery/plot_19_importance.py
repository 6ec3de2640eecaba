"""
What each column is worth
=========================

Where the cells of a column are shuffled, predictions lose what the column was worth: scikit-learn's
`permutation_importance`, on held-out rows. A point is one shuffle.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

import qpsvm
from qpsvm.estimators import SVR

data = load_diabetes()
X, X_test, y, y_test = train_test_split(data.data, data.target, random_state=0)
machine = SVR(kernel="linear", C=1000).fit(X, y)
found = permutation_importance(machine, X_test, y_test, n_repeats=20, random_state=0)
order = found.importances_mean.argsort()[::-1]
qpsvm.plotting.importance([data.feature_names[j] for j in order], found.importances[order], score="R²")
plt.show()
