"""`LinearSVC(penalty="l1")`"""

from sklearn.datasets import load_iris
from sklearn.feature_selection import SelectFromModel
from sklearn.svm import LinearSVC

X, y = load_iris(return_X_y=True)
chosen = SelectFromModel(LinearSVC(C=0.01, penalty="l1", dual=False)).fit(X, y)

found = {"features": chosen.get_support()}
