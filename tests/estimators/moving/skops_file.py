"""A skops file of a pipeline"""

import skops.io
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = load_iris(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), SVC(C=10)).fit(X, y)
file = skops.io.dumps(pipeline)
types = skops.io.get_untrusted_types(data=file)

found = {
    "labels": skops.io.loads(file, trusted=types).predict(X),
    "decision values": skops.io.loads(file, trusted=types).decision_function(X),
    "types to trust": len(types),
}
