"""Pickle, joblib and copies of a pipeline"""

import copy
import io
import pickle

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR

X, y = load_diabetes(return_X_y=True)
X, y = X[:200], y[:200]
pipeline = make_pipeline(StandardScaler(), PolynomialFeatures(), SVR(C=50)).fit(X, y)
again = pickle.loads(pickle.dumps(pipeline))
file = io.BytesIO()
joblib.dump(make_pipeline(StandardScaler(), SVC()).fit(X, y > 150), file, compress=3)
file.seek(0)
classifier = joblib.load(file)

found = {
    "predictions": pipeline.predict(X),
    "from the pickle": again.predict(X),
    "the pickle has the same bits": bool((again.predict(X) == pipeline.predict(X)).all()),
    "from joblib": classifier.predict(X),
    "copied": copy.deepcopy(pipeline).predict(X),
    "cloned and fitted": clone(pipeline).fit(X[:100], y[:100]).predict(X[100:]),
    "float32": pipeline.predict(X.astype(np.float32)),
    "text of the pipeline": str(make_pipeline(SVC(C=10))),
}
