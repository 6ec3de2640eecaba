"""Provide scikit-learn's support vector machines under the same names, with a certified duality gap.

Only the import changes; pipelines, grid searches and pickles work as before:

>>> from sklearn.datasets import load_iris
>>> from sklearn.model_selection import cross_val_score
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> from qpsvm.estimators import SVC
>>> X, y = load_iris(return_X_y=True)
>>> print(cross_val_score(make_pipeline(StandardScaler(), SVC()), X, y).mean().round(3))
0.967
"""

from qpsvm.estimators.fit_warnings import GapWarning
from qpsvm.estimators.l1_penalty import l1_min_c
from qpsvm.estimators.linear import LinearSVC, LinearSVR
from qpsvm.estimators.novelty import SVDD, OneClassSVM
from qpsvm.estimators.onnx import register_onnx, to_onnx
from qpsvm.estimators.ranking import RankingSVM
from qpsvm.estimators.svc import SVC, NuSVC
from qpsvm.estimators.svr import SVR, NuSVR, QuantileSVR

__all__ = [
    "SVC", "SVDD", "SVR", "GapWarning", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM", "QuantileSVR",
    "RankingSVM", "l1_min_c", "register_onnx", "to_onnx",
]  # fmt: skip
