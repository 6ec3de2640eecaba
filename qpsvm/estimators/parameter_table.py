"""List the parameters and attributes of estimators: type, meaning, and how a value is checked (`PARAMETERS`).

An estimator class lists the names of its parameters only. Its constructor, its documentation and the checks of values
are built from this table. Parameters have the names of scikit-learn, or of this library if scikit-learn has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from qpsvm.base.arrays.checks import as_flag, as_positive, as_real, as_tolerance
from qpsvm.estimators.parameter_checks import (
    Check,
    check_backend,
    check_constraints,
    check_gamma,
    check_nonnegative,
    check_probability,
    check_share,
    is_kernel,
    is_none,
    make_check_unless,
    make_choice_check,
    make_integer_check,
)

#: Scikit-learn's names of kernels.
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
#: What scikit-learn writes for "no limit".
NO_LIMIT = -1
#: Meaning of parameters that are accepted for compatibility with scikit-learn only.
LIBSVM_ONLY = "Without effect: a setting of LIBSVM."
#: Type and meaning of the attributes that a fit sets, by name.
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "center_": ("ndarray, shape (d,)", "Centre of the ball, for a linear kernel."),
    "classes_": ("ndarray, shape (k,)", "The labels in sort order."),
    "support_": ("ndarray of int32, shape (s,)", "Rows of the support vectors, sorted by class."),
    "support_vectors_": ("ndarray or csr_matrix, shape (s, d)", "The support vectors; empty for a precomputed kernel."),
    "n_support_": ("ndarray of int32, shape (1,) or (k,)", "Number of support vectors; of each class in a classifier."),
    "dual_coef_": (
        "ndarray or csr_matrix, shape (1, s) or (k − 1, s)",
        "Coefficients of the support vectors, as in scikit-learn: α_i y_i, or α⁺ − α⁻ for a regression; (P, s) for P "
        "machines that are not pairs of classes.",
    ),
    "coef_": (
        "ndarray or csr_matrix, shape (1, d) or (P, d)",
        "Weights of the features, for a linear kernel, one row per machine; (d,) for `LinearSVR`. Read-only for "
        "estimators with a kernel.",
    ),
    "intercept_": ("ndarray, shape (P,)", "The intercept of each machine; 0.0 for a linear machine without one."),
    "offset_": ("ndarray, shape (1,)", "`decision_function` is `score_samples` minus this."),
    "pairs_": ("ndarray of int, shape (m, 2)", "The pairs (better, worse) of training samples."),
    "radius_": ("float", "Radius R of the ball, in feature space."),
    "fit_status_": ("int", "0 if every gap is certified to be within `tol`, else 1."),
    "gap_": ("float", "The largest certified relative gap of the machines."),
    "result_": ("SVMResult", "The certified result."),
    "results_": (
        "sequence of SVMResult",
        "The certified result of each machine; for two classes there is also `result_`.",
    ),
    "n_iter_": ("int or ndarray of int32, shape (P,)", "Iterations of the solver."),
    "class_weight_": ("ndarray, shape (k,)", "The factor of C of each class."),
    "notes_": ("tuple of str", "Hints about the fit, such as features of different scales; usually empty."),
    "shape_fit_": ("tuple of int", "The shape of X."),
    "n_features_in_": ("int", "Number of features d."),
    "feature_names_in_": ("ndarray of str, shape (d,)", "Names of the features, if X was a data frame."),
}


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter: type and meaning for the documentation, default, and the check of its values, if any."""

    type_text: str
    meaning: str
    default: Any = None
    check: Check | None = None


#: Parameters by name. A class in which one means something else lists it in `_parameter_overrides`.
PARAMETERS: dict[str, ParameterInfo] = {
    "C": ParameterInfo("float", "Penalty of slack, positive.", 1.0, as_positive),
    "backend": ParameterInfo("str", "The solver: one of `qpsvm.backends.names()`.", "auto", check_backend),
    "break_ties": ParameterInfo(
        "bool",
        'Whether `predict` breaks ties of votes by the scores of "ovr", which takes slightly longer.',
        False,
        as_flag,
    ),
    "cache_size": ParameterInfo("float", LIBSVM_ONLY, 200, as_positive),
    "class_weight": ParameterInfo(
        'dict, "balanced" or None',
        'Factors of C by label. "balanced" makes all classes weigh alike: by the numbers of their samples in `SVC` and '
        "`NuSVC`, by the sums of their weights in `LinearSVC`, as in scikit-learn.",
        None,
        make_check_unless(lambda value: isinstance(value, Mapping), make_choice_check("balanced", None)),
    ),
    "coef0": ParameterInfo("float", 'Constant of "poly" and "sigmoid".', 0.0, as_real),
    "constraints": ParameterInfo(
        "Constraints, ValueConstraints, or a list of them",
        "Linear constraints on w, b and f of every machine.",
        None,
        check_constraints,
    ),
    "decision_function_shape": ParameterInfo(
        '{"ovr", "ovo"}',
        "For more than two classes: one score per class, or the value of each pair.",
        "ovr",
        make_choice_check("ovr", "ovo"),
    ),
    "degree": ParameterInfo(
        "int", 'Degree of "poly".', 3, make_integer_check("a whole number from 0 on", lambda n: n >= 0)
    ),
    "dual": ParameterInfo(
        '"auto" or bool',
        "Without effect, since every solution is certified by both forms; combinations that LIBLINEAR does not support "
        "raise an error.",
        "auto",
        make_choice_check("auto", True, False),
    ),
    "epsilon": ParameterInfo(
        "float", "Half the width of the tube within which errors are not penalised.", 0.1, check_nonnegative
    ),
    "fit_intercept": ParameterInfo("bool", "False for f(x) = ⟨w, φ(x)⟩, without an intercept.", True, as_flag),
    "gamma": ParameterInfo(
        '{"scale", "auto"} or float',
        'γ of "rbf", "poly" and "sigmoid": 1/(d var(X)), 1/d, or a number.',
        "scale",
        check_gamma,
    ),
    "intercept_scaling": ParameterInfo(
        "float",
        "If given, the intercept is penalised as by LIBLINEAR; scikit-learn's default is 1.",
        None,
        make_check_unless(is_none, as_real),
    ),
    "kernel": ParameterInfo(
        '{"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable',
        "A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.",
        "rbf",
        make_check_unless(is_kernel, make_choice_check(*KERNELS)),
    ),
    "max_iter": ParameterInfo(
        "int",
        "Largest number of iterations of the solver, without its final polishing; −1 for no limit.",
        NO_LIMIT,
        make_check_unless(
            is_none,
            make_integer_check("a positive whole number, or -1 for no limit", lambda n: n == NO_LIMIT or n > 0),
        ),
    ),
    "multi_class": ParameterInfo(
        '{"ovo", "ovr", "crammer_singer", "weston_watkins"}',
        "For more than two classes: one machine per pair of classes, one per class against all others, or one program "
        "over all classes.",
        "ovo",
        make_choice_check("ovo", "ovr", "crammer_singer", "weston_watkins"),
    ),
    "n_jobs": ParameterInfo(
        "int",
        "Number of joblib processes for the machines of several classes.",
        None,
        make_check_unless(is_none, make_integer_check("a whole number other than 0, or None", lambda n: n != 0)),
    ),
    "nu": ParameterInfo(
        "float",
        "In (0, 1]: upper bound on the fraction of errors, lower bound on that of support vectors.",
        0.5,
        check_share,
    ),
    "probability": ParameterInfo(
        'bool, "sigmoid", "isotonic", "leave-one-out" or "leave-one-out-isotonic"',
        "Whether there is `predict_proba`: a sigmoid (True), or a nondecreasing step function, fitted to decisions of "
        "machines trained without the sample's fold, one of five, or without the sample only.",
        False,
        check_probability,
    ),
    "psd": ParameterInfo(
        '{"clip", "shift", "raise"} or None',
        'What to do with an indefinite kernel matrix, as "sigmoid" may have: project it, add to its diagonal, or raise '
        "`IndefiniteKernelError`. None projects it with a `ChangedKernelWarning`.",
        None,
        make_check_unless(is_none, make_choice_check("raise", "clip", "shift")),
    ),
    "random_state": ParameterInfo(
        "int, RandomState or None",
        "Without effect: nothing is random.",
        None,
        make_check_unless(
            lambda value: isinstance(value, np.random.RandomState),
            make_integer_check("a whole number from 0 to 2**32 - 1, a RandomState or None", lambda n: 0 <= n < 2**32),
        ),
    ),
    "shrinking": ParameterInfo("bool", LIBSVM_ONLY, True, as_flag),
    "time_limit": ParameterInfo(
        "float",
        "Seconds for the whole fit; after them it ends with the best certified points and a `GapWarning`.",
        None,
        make_check_unless(is_none, as_positive),
    ),
    "tol": ParameterInfo(
        "float",
        "The relative duality gap to be reached, rounding errors included.",
        1e-6,
        lambda value, _: as_tolerance(value),
    ),
    "verbose": ParameterInfo(
        "bool or int",
        "Whether to report progress; for several machines, how many are done.",
        False,
        make_check_unless(
            lambda value: isinstance(value, bool),
            make_integer_check("a flag or a whole number from 0 on", lambda n: n >= 0),
        ),
    ),
    "warm_start": ParameterInfo(
        "bool", "Start from the last solution, if the number of samples is the same.", False, as_flag
    ),
}
