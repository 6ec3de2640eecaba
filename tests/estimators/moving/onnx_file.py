"""ONNX of whole pipelines, single and double precision"""

import numpy as np
import onnxruntime
import skl2onnx
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

X, y = load_iris(return_X_y=True)
columns = ColumnTransformer([("size", StandardScaler(), [0, 1]), ("petal", MinMaxScaler(), [2, 3])])
classifier = make_pipeline(columns, SVC(C=10)).fit(X, y)
regression = make_pipeline(StandardScaler(), SVR()).fit(X[:, :3], X[:, 3])


def run(model, rows):
    options = {"zipmap": False} if hasattr(model, "classes_") else None
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(model, rows[:1], options=options).SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: rows})[0].ravel()


found = {
    "float32: labels": run(classifier, X.astype(np.float32)),
    "float64: labels": run(classifier, X),
    "float32: numbers": run(regression, X[:, :3].astype(np.float32)),
}
