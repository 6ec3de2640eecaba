"""Explain names of other libraries in errors (`AttributeHints`, `explain_argument`, `explain_module_attribute`).

A user of scikit-learn or SciPy may try `result.coef_`, `problem.fit` or `CSVM(X, y, gamma=0.1)`. Each raises an error
that names the equivalent of this library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from qpsvm.base.arrays.formatting import suggest_names

#: Classes of `qpsvm.estimators` that a user may look for in `qpsvm`.
ESTIMATORS = ("LinearSVC", "LinearSVR", "NuSVC", "OneClassSVM", "RankingSVM", "SVC", "SVR")

#: Hints for missing attributes of a result.
RESULT_HINTS = {
    "coef_": "scikit-learn's coef_ is result.w here, of a linear kernel",
    "intercept_": "scikit-learn's intercept_ is result.b here",
    "intercept": "the intercept is result.b",
    "support_": "scikit-learn's support_ is result.support here: the rows of the support vectors",
    "support_vectors_": "scikit-learn's support_vectors_ is result.support_vectors here",
    "dual_coef_": "scikit-learn's dual_coef_ is result.coef[result.support] here",
    "dual_coef": "the coefficients of the kernel expansion are result.coef, one per sample",
    "n_support_": "the support vectors are result.support; len(result.support) counts them",
    "n_support": "the support vectors are result.support; len(result.support) counts them",
    "n_iter_": "scikit-learn's n_iter_ is result.iterations here",
    "nit": "SciPy's nit is result.iterations here",
    "classes_": "scikit-learn's classes_ is result.classes here",
    "objective": "the values of both programs are result.primal and result.dual",
    "value": "the values of both programs are result.primal and result.dual",
    "fun": "SciPy's fun is result.primal or result.dual here",
    "x": "the solution is result.alpha (dual) and result.w, result.b (primal)",
    "success": 'a certified result has result.status == "optimal"',
    "slack": "the slack variables are result.xi",
    "score": "compare result.predict(X) with y, or use qpsvm.estimators, which have score",
    "fit": "a result is fitted; qpsvm.solve(problem) fits, and qpsvm.estimators have fit",
    "predict_proba": "probabilities need a calibrated model: qpsvm.estimators.SVC(probability=True)",
}

#: Hints for missing attributes of a problem.
PROBLEM_HINTS = {
    **dict.fromkeys(("fit", "solve"), "a problem only states the quadratic programs; qpsvm.solve(problem) solves them"),
    **dict.fromkeys(
        ("predict", "decision_function", "score", "alpha", "b", "w", "support", "status", "value"),
        "a problem has no solution: that is what result = qpsvm.solve(problem) has",
    ),
    **dict.fromkeys(
        ("P", "q", "A", "G", "h", "lb", "ub", "objective", "variables"),
        'it belongs to a quadratic program: problem.qp("dual") or problem.qp("primal")',
    ),
    **dict.fromkeys(("gamma", "degree", "coef0"), "it belongs to the kernel: problem.kernel"),
    "sample_weights": "the weights are problem.sample_weight",
    "n_samples": "the number of samples is problem.n",
}

#: Hints for arguments of other libraries.
ARGUMENT_HINTS = {
    **dict.fromkeys(("tol", "max_iter", "verbose", "solver", "backend"), "an argument of qpsvm.solve(problem, …)"),
    "fit_intercept": 'the intercept is intercept="free", "penalised" or None',
    "probability": "probabilities are qpsvm.estimators.SVC(probability=True)",
    "loss": "each loss is a class: CSVM, SquaredHinge, HuberHinge, EpsilonSVR, QuantileSVR",
    "cv": "scikit-learn's cv is folds here, of qpsvm.cross_validate",
    "penalty": "the penalty is ½‖w‖²",
    "nu": "ν is a parameter of NuSVM, NuSVR and OneClass",
    "epsilon": "ε is a parameter of EpsilonSVR",
    "C": "NuSVM, OneClass and SVDD have nu in its place, PrimalHinge has lam = 1/(nC), and HardMargin allows no slack",
    **dict.fromkeys(("lam", "alpha", "lambda_"), "λ is the parameter lam of PrimalHinge; other machines have C"),
    "quantile": "the quantile is a parameter of QuantileSVR",
    "constraints": 'linear constraints are rows of its primal: solve(problem.qp("primal").with_rows(G=..., h=...))',
    "multi_class": "one machine for several classes is CrammerSinger or WestonWatkins; qpsvm.estimators.SVC combines "
    "machines of two classes",
    "random_state": "nothing is random here, so that no seed is needed",
}
#: Kernel classes by their names in scikit-learn.
KERNEL_CLASSES = {"rbf": "RBF", "poly": "Polynomial", "polynomial": "Polynomial", "sigmoid": "Sigmoid"}
#: Parameters that belong to a kernel here.
KERNEL_PARAMETERS = ("gamma", "degree", "coef0")


class AttributeHints:
    """Base of classes whose AttributeError names the equivalent of an attribute of other libraries."""

    _attribute_hints: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # with __getattr__, a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            hint = type(self)._attribute_hints.get(name)
            if hint is None:  # a property may have raised AttributeError: access it again to raise that error
                return object.__getattribute__(self, name)
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: {hint}", name=name, obj=self
            )


def explain_argument(owner: str, name: str, arguments: Mapping[str, Any], known: Iterable[str]) -> str:
    """Return the message for an argument that a class or function does not have, with what to use instead.

    arguments: All arguments of the call, by name.
    known: The arguments that the owner has.
    """
    problem = f"{owner} has no argument {name!r}"
    if name in KERNEL_PARAMETERS:
        kernel = arguments.get("kernel", "rbf")
        if isinstance(kernel, str):
            kernel_class = KERNEL_CLASSES.get(kernel.lower(), "RBF")
        else:
            kernel_class = "RBF"
        values = ", ".join(f"{key}={arguments[key]!r}" for key in KERNEL_PARAMETERS if key in arguments)
        return f"{problem}: it is a parameter of the kernel, kernel=qpsvm.{kernel_class}({values})"
    if name in ARGUMENT_HINTS:
        return f"{problem}: {ARGUMENT_HINTS[name]}"
    known_names = list(known)
    return " ".join([f"{problem};", *suggest_names(name, known_names), f"known: {', '.join(known_names)}"])


def explain_module_attribute(name: str) -> str:
    """Return a hint on an attribute that the package does not have, to append to the message; "" if there is none."""
    if name in ESTIMATORS:
        return f": scikit-learn's classes are in qpsvm.estimators, from qpsvm.estimators import {name}"
    if name in ("fit", "svm"):
        return ": state a problem and call qpsvm.solve(problem)"
    return ""
