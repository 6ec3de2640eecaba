"""Export fitted estimators to ONNX by skl2onnx (`to_onnx`, `register_onnx`).

skl2onnx can convert scikit-learn's classes only. So a fitted estimator is replaced by its twin, which is scikit-learn's
class with the same fitted attributes, and therefore the same predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from qpsvm.base.errors import MissingExtraError, UnsupportedError, describe_install
from qpsvm.estimators.linear import LinearSVC, LinearSVR
from qpsvm.estimators.novelty import SVDD, OneClassSVM
from qpsvm.estimators.ranking import RankingSVM
from qpsvm.estimators.svc import SVC, NuSVC
from qpsvm.estimators.svr import SVR, NuSVR, QuantileSVR

#: Names of scikit-learn's classes with the same decision functions; that of a `QuantileSVR` has the form of an SVR's.
TWINS: dict[type[Any], str] = {
    SVC: "SVC", NuSVC: "NuSVC", SVR: "SVR", NuSVR: "NuSVR", QuantileSVR: "SVR", OneClassSVM: "OneClassSVM",
    LinearSVC: "LinearSVC", LinearSVR: "LinearSVR",
}  # fmt: skip
#: Attributes of the fit that the twins need to predict, if they have them.
FITTED = (
    "classes_", "coef_", "intercept_", "_intercept_", "support_", "support_vectors_", "dual_coef_", "_dual_coef_",
    "_n_support", "offset_", "shape_fit_", "fit_status_", "n_features_in_", "feature_names_in_", "_sparse", "_gamma",
)  # fmt: skip


def to_onnx(estimator: Any, X: Any, **options: Any) -> Any:
    """Convert a fitted estimator, or a pipeline that ends with one, to an ONNX model.

    Parameters
    ----------
    estimator : SVC, NuSVC, SVR, NuSVR, QuantileSVR, OneClassSVM, LinearSVC, LinearSVR or sklearn.pipeline.Pipeline
    X : array_like, shape (m, d)
        Samples, one suffices: they determine the input type of the model. Doubles are converted to single precision,
        in which ONNX operators compute.
    **options
        Further arguments of `skl2onnx.to_onnx`.

    Returns
    -------
    onnx.ModelProto
        Write its ``SerializeToString()`` to a file.

    Raises
    ------
    MissingExtraError
        skl2onnx is not installed.
    UnsupportedError
        Another estimator, several classes by other machines than pairs, a kernel that is not one of scikit-learn's
        names, or a fit to sparse samples.
    sklearn.exceptions.NotFittedError

    Examples
    --------
    ``to_onnx(SVC().fit(X, y), X[:1]).SerializeToString()`` can be read by onnxruntime. Estimators
    without a counterpart raise an error:

    >>> from qpsvm.estimators import SVDD, to_onnx
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> to_onnx(SVDD(nu=0.5).fit(X), X)
    Traceback (most recent call last):
        ...
    qpsvm.UnsupportedError: SVDD() has no twin in scikit-learn that could be converted: use save()
    """
    from sklearn.pipeline import Pipeline

    # only for its errors, before skl2onnx is imported
    build_twin(estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator)
    register_onnx()
    import skl2onnx

    if isinstance(X, np.ndarray) and X.dtype == np.float64:  # of which onnxruntime has no kernel machine
        X = X.astype(np.float32)
    return skl2onnx.to_onnx(estimator, X, **options)


def register_onnx() -> None:
    """Register the estimators with skl2onnx, so that its own `to_onnx` converts any estimator that contains one.

    These may be nested pipelines, grid searches, column transformers and voting estimators.

    Raises
    ------
    MissingExtraError
        skl2onnx is not installed.

    Examples
    --------
    Once, before ``skl2onnx.to_onnx(make_pipeline(StandardScaler(), SVC()).fit(X, y), X[:1])``:

    >>> from qpsvm import MissingExtraError
    >>> from qpsvm.estimators import register_onnx
    >>> try:
    ...     register_onnx()
    ... except MissingExtraError as error:
    ...     command = str(error)  # what to install
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx.common._registration import get_converter
    except ImportError:
        message = f"the export to ONNX needs skl2onnx, which is not installed; run: {describe_install('onnx')}"
        raise MissingExtraError(message) from None
    for kind in (*TWINS, SVDD, RankingSVM):  # the last two are registered for their errors
        options = {"zipmap": None}  # requested for every classifier in a pipeline
        if kind in TWINS:
            options |= get_converter(_find_alias(TWINS[kind])).get_allowed_options() or {}
        how = {"parser": _parse_twin, "options": options}
        update_registered_converter(kind, f"Qpsvm{kind.__name__}", _compute_twin_shapes, _convert_twin, **how)


def _find_alias(name: str) -> str:
    """Return skl2onnx's name for the operator of a scikit-learn class."""
    return f"Sklearn{name.removeprefix('Nu')}"


def _register_twin(scope: Any, estimator: Any) -> Any:
    """Build the twin of an estimator, and register those of the user's options that it has."""
    from skl2onnx.common._registration import get_converter

    twin = build_twin(estimator)
    twin_options = get_converter(_find_alias(type(twin).__name__)).get_allowed_options() or {}
    for key in (type(estimator), id(estimator)):
        user_options = (scope.options or {}).get(key, {})
        scope.add_options(
            id(twin), {name: value for name, value in user_options.items() if name in twin_options or name != "zipmap"}
        )
    return twin


def _parse_twin(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Parse the twin in place of an estimator."""
    from skl2onnx._parse import _parse_sklearn

    return _parse_sklearn(scope, _register_twin(scope, model), inputs, custom_parsers)


def _compute_twin_shapes(operator: Any) -> None:
    """Replace an estimator nested in another by its twin, and compute the shapes of its output."""
    from skl2onnx.common._registration import get_shape_calculator

    twin = _register_twin(operator.scope_inst, operator.raw_operator)
    operator.raw_operator = twin
    operator.type = _find_alias(type(twin).__name__)
    get_shape_calculator(operator.type)(operator)


def _convert_twin(scope: Any, operator: Any, container: Any) -> None:
    """Convert the twin by its own converter."""
    from skl2onnx.common._registration import get_converter

    get_converter(operator.type)(scope, operator, container)


def build_twin(estimator: Any) -> BaseEstimator:
    """Build scikit-learn's own estimator that predicts the same. Raises UnsupportedError, NotFittedError."""
    _check_has_twin(estimator)
    twin = _build_unfitted_twin(estimator)
    for key in FITTED:
        value = getattr(estimator, key, None)
        if value is not None and not (key == "coef_" and hasattr(estimator, "dual_coef_")):
            setattr(twin, key, np.array(value) if isinstance(value, np.ndarray) else value)
    if hasattr(twin, "dual_coef_"):
        twin._probA = twin._probB = np.empty(0)
    return twin


def _check_has_twin(estimator: Any) -> None:
    """Check that a fitted estimator has a twin. Raises UnsupportedError, sklearn.exceptions.NotFittedError."""
    name = TWINS.get(type(estimator))
    kernel = getattr(estimator, "kernel", "linear")
    if name is None or not isinstance(kernel, str) or kernel == "precomputed":
        raise UnsupportedError(f"{estimator} has no twin in scikit-learn that could be converted: use save()")
    check_is_fitted(estimator)
    if getattr(estimator, "_sparse", False):
        raise UnsupportedError("a machine that was fitted to sparse samples is not converted: fit it to dense ones")
    if isinstance(estimator, (SVC, NuSVC)) and len(estimator.classes_) > 2 and not estimator._is_first_positive:
        raise UnsupportedError(f"multi_class={estimator.multi_class!r} is not converted: only machines of pairs are")


def _build_unfitted_twin(estimator: Any) -> Any:
    """Build scikit-learn's estimator with the parameters that both have, except those that mean something else."""
    from sklearn.svm import _classes  # not sklearn.svm, which `patch_sklearn` may have patched

    kind = getattr(_classes, TWINS[type(estimator)])
    names = kind().get_params().keys() - {"tol", "probability", "max_iter"}
    return kind(**{key: value for key, value in estimator.get_params().items() if key in names})
