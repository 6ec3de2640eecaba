"""List the parameters and attributes of estimators: type, meaning, and how a value is checked (`PARAMETERS`).

A class lists the names of its parameters. Its constructor, its documentation and the checks of its values are built
from the table. Parameters have scikit-learn's names, and this library's names if scikit-learn has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qpsvm.base.arrays.checks import as_flag, as_positive, as_real, as_tolerance
from qpsvm.estimators.parameter_checks import (
    Check,
    check_backend,
    check_choice,
    check_gamma,
    check_integer,
    check_not_negative,
    check_probability,
    check_share,
    check_unless,
    is_kernel,
    is_none,
)

#: Scikit-learn's names of kernels.
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
#: What scikit-learn writes for "no limit".
NO_LIMIT = -1
LIBSVM_ONLY = "Without effect: it belongs to LIBSVM."
#: What a fit leaves, by name: type and meaning.
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "center_": ("ndarray, shape (d,)", "Centre of the ball, of a linear kernel."),
    "classes_": ("ndarray, shape (k,)", "The labels in sort order."),
    "support_": ("ndarray of int32, shape (s,)", "Rows of the support vectors, class after class."),
    "support_vectors_": ("ndarray or csr_matrix, shape (s, d)", "Empty of a precomputed kernel."),
    "n_support_": ("ndarray of int32, shape (1,) or (k,)", "How many there are; of several classes, of each."),
    "dual_coef_": (
        "ndarray or csr_matrix, shape (1, s) or (k − 1, s)",
        "As scikit-learn stores them: α_i y_i, of a regression α⁺ − α⁻; (P, s) of machines that are no pairs.",
    ),
    "coef_": (
        "ndarray or csr_matrix, shape (1, d) or (P, d)",
        "The weights of the features, a row for each machine, of a linear kernel, where they cannot be written to; "
        "(d,) of `LinearSVR`.",
    ),
    "intercept_": ("ndarray, shape (P,)", "One for each machine."),
    "offset_": ("ndarray, shape (1,)", "`decision_function` is `score_samples` less this."),
    "pairs_": ("ndarray of int, shape (m, 2)", "The pairs (better, worse) that were learnt from."),
    "radius_": ("float", "Radius R of the ball, in feature space."),
    "fit_status_": ("int", "0 where every gap is certified to be within `tol`, else 1."),
    "gap_": ("float", "The largest of the certified relative gaps."),
    "result_": ("SVMResult", "The certified result."),
    "results_": (
        "sequence of SVMResult", "The certified result of each machine; of two classes there is also `result_`.",
    ),
    "n_iter_": ("int or ndarray of int32, shape (P,)", "Iterations of the solver."),
    "class_weight_": ("ndarray, shape (k,)", "The factor of C of each class."),
    "notes_": ("tuple of str", "What a colleague would say of the fit, such as features out of scale; mostly empty."),
    "shape_fit_": ("tuple of int", "The shape of X."),
    "n_features_in_": ("int", "d."),
    "feature_names_in_": ("ndarray of str, shape (d,)", "Where X was a data frame."),
}  # fmt: skip


@dataclass(frozen=True)
class ParameterInfo:
    """A parameter: type and meaning for the documentation, default, and the check of its values, if any."""

    kind: str
    text: str
    default: Any = None
    check: Check | None = None


#: Parameters by name. A class in which one means something else has an entry in `_parameter_overrides`.
PARAMETERS: dict[str, ParameterInfo] = {
    "C": ParameterInfo("float", "Penalty of slack, positive.", 1.0, as_positive),
    "backend": ParameterInfo("str", "Who solves: one of `qpsvm.backends.names()`.", "auto", check_backend),
    "break_ties": ParameterInfo(
        "bool",
        'Whether `predict` follows the scores of "ovr" where classes have as many votes; it costs a little.',
        False,
        as_flag,
    ),
    "cache_size": ParameterInfo("float", LIBSVM_ONLY, 200, as_positive),
    "class_weight": ParameterInfo(
        'dict, "balanced" or None',
        "Factors of C by label.",
        None,
        check_unless(lambda value: isinstance(value, Mapping), check_choice("balanced", None)),
    ),
    "coef0": ParameterInfo("float", 'Of "poly" and "sigmoid".', 0.0, as_real),
    "constraints": ParameterInfo(
        "Constraints, ValueConstraints, or a list of them", "Linear constraints on w, b and f of every machine."
    ),
    "decision_function_shape": ParameterInfo(
        '{"ovr", "ovo"}',
        "Of more than two classes: a score for each, or the value of each pair.",
        "ovr",
        check_choice("ovr", "ovo"),
    ),
    "degree": ParameterInfo(
        "int", 'Of "poly".', 3, check_integer("a whole number from 0 on", lambda value: value >= 0)
    ),
    "dual": ParameterInfo(
        '"auto" or bool',
        "Without effect, since every answer is certified by both forms; what LIBLINEAR refuses is refused.",
        "auto",
        check_choice("auto", True, False),
    ),
    "epsilon": ParameterInfo(
        "float", "Half the width of the tube within which an error costs nothing.", 0.1, check_not_negative
    ),
    "fit_intercept": ParameterInfo("bool", "False for f(x) = ⟨w, φ(x)⟩, through the origin.", True, as_flag),
    "gamma": ParameterInfo(
        '{"scale", "auto"} or float',
        'Of "rbf", "poly" and "sigmoid": 1/(d var(X)), 1/d, or a number.',
        "scale",
        check_gamma,
    ),
    "intercept_scaling": ParameterInfo(
        "float",
        "Where it is given, the intercept is penalised as LIBLINEAR's: scikit-learn's default is 1.",
        None,
        check_unless(is_none, as_real),
    ),
    "kernel": ParameterInfo(
        '{"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel or callable',
        "A name, a kernel of this library, or a function `(X, Z) -> (n, m)`.",
        "rbf",
        check_unless(is_kernel, check_choice(*KERNELS)),
    ),
    "max_iter": ParameterInfo(
        "int",
        "Iterations of the solver, its final steps of polishing not included; −1 for no limit.",
        NO_LIMIT,
        check_unless(
            is_none,
            check_integer("a positive whole number, or -1 for no limit", lambda value: value == -1 or value > 0),
        ),
    ),
    "multi_class": ParameterInfo(
        '{"ovo", "ovr", "crammer_singer", "weston_watkins"}',
        "More than two classes: a machine for every two, one for each against all others, or all in one.",
        "ovo",
        check_choice("ovo", "ovr", "crammer_singer", "weston_watkins"),
    ),
    "n_jobs": ParameterInfo(
        "int",
        "Processes for the machines of several classes, by joblib.",
        None,
        check_unless(is_none, check_integer("a whole number other than 0, or None", lambda value: value != 0)),
    ),
    "nu": ParameterInfo(
        "float", "In (0, 1]: a bound on the share of errors, and the least share of support vectors.", 0.5, check_share
    ),
    "probability": ParameterInfo(
        'bool, "sigmoid", "isotonic", "leave-one-out" or "leave-one-out-isotonic"',
        "Whether `predict_proba` is there: a sigmoid (True), or steps that never fall, fitted to decisions by machines "
        "without a fold of five, or without one sample, exactly.",
        False,
        check_probability,
    ),
    "psd": ParameterInfo(
        '{"clip", "shift", "raise"} or None',
        'What to do with an indefinite kernel matrix, as that of "sigmoid" may be: project it, add to its diagonal, '
        "or raise `IndefiniteKernelError`. None projects it, and says so by a `ChangedKernelWarning`.",
        None,
        check_unless(is_none, check_choice("raise", "clip", "shift")),
    ),
    "random_state": ParameterInfo("int or None", "Without effect: nothing is random."),
    "shrinking": ParameterInfo("bool", LIBSVM_ONLY, True, as_flag),
    "time_limit": ParameterInfo(
        "float",
        "Seconds of the whole fit; one that needs more ends with the best certified points and a `GapWarning`.",
        None,
        check_unless(is_none, as_positive),
    ),
    "tol": ParameterInfo(
        "float",
        "The relative duality gap that has to be reached, rounding errors included.",
        1e-6,
        lambda value, _: as_tolerance(value),
    ),
    "verbose": ParameterInfo(
        "bool or int",
        "Report progress; of several machines, how many are done.",
        False,
        check_integer("a flag or a whole number from 0 on", lambda value: value >= 0, flags=True),
    ),
    "warm_start": ParameterInfo(
        "bool", "Begin where the last fit ended, if it was over as many samples.", False, as_flag
    ),
}
