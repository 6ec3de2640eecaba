"""`LinearSVC` and `LinearSVR` as they come"""

from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

X, y = load_iris(return_X_y=True)
piped = make_pipeline(StandardScaler(), LinearSVC(random_state=0)).fit(X, y)
line = LinearSVR(random_state=0, max_iter=10_000).fit(X[:, :3], X[:, 3])

found = {
    "shapes": [piped[-1].coef_.shape, piped[-1].intercept_.shape, line.coef_.shape],
    "score of folds": cross_val_score(piped, X, y, cv=5).mean(),
    "decision values": piped.decision_function(X),
}
