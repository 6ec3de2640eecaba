"""Derive a machine from another one: with other parameters or samples, or of another class.

`replace_parameters`, `restrict_to_rows` and `convert_problem` share what is unchanged with the new machine: the
samples, and the Gram matrix, or a block of it, if kernel and psd rule are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from qpsvm.base.arrays.constant_vectors import find_common_value, repeat_value
from qpsvm.base.arrays.frozen import copy_without_cache, freeze
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import ParameterError, UnknownOptionError, UnsupportedError, describe_nearest
from qpsvm.data.rows import RowSource
from qpsvm.data.rows.transformed import select_rows
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.result_checks import check_result
from qpsvm.machines.problem.statement import MachineStatement
from qpsvm.result.svm_result import SVMResult
from qpsvm.space.kernels.functions import Kernel, Precomputed
from qpsvm.space.kernels.kernel_registry import as_kernel
from qpsvm.space.kernels.space import FeatureSpace

S = TypeVar("S", bound=MachineStatement)


def get_kernel_parameters(kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of a kernel by name, except the kernel that a feature map approximates.

    A kernel that is not a dataclass has none.
    """
    names: list[str] = [item.name for item in fields(kernel) if item.init] if is_dataclass(kernel) else []
    return {name: getattr(kernel, name) for name in names if name != "kernel"}


def get_parameters(problem: MachineStatement) -> dict[str, Any]:
    """Return the parameters of a problem by name: those of the machine, then those of the kernel."""
    return {
        **{name: getattr(problem, name) for name in problem._hyperparameters},
        **get_kernel_parameters(problem.kernel),
    }


def get_hyperparameters(problem: MachineStatement) -> dict[str, Any]:
    """Return the hyperparameters by name, each as one number if it is the same for all samples."""
    return {name: _collapse_constant(getattr(problem, name)) for name in problem._hyperparameters}


def replace_parameters(problem: S, changes: Mapping[str, Any]) -> S:
    """Build the machine with changed parameters: see `Problem.replace`."""
    kernel = as_kernel(changes.get("kernel", problem.kernel))
    values = {name: changes[name] for name in get_kernel_parameters(kernel) if name in changes}
    known = {*problem._hyperparameters, *get_kernel_parameters(kernel), "kernel", "psd"}
    unknown = next((name for name in changes if name not in known), None)
    if unknown is not None:
        raise UnknownOptionError(
            f"{type(problem).__name__} with the kernel {kernel} has no parameter {unknown!r}; "
            f"{describe_nearest(unknown, known)}"
        )
    if values:
        kernel = replace(kernel, **values)  # type: ignore[type-var]
    psd = changes.get("psd", problem.psd)
    hyperparameters = {name: changes.get(name, value) for name, value in get_hyperparameters(problem).items()}
    new = copy_without_cache(problem)
    new.__dict__.pop("_is_complete", None)
    new._set_data(problem.samples, kernel, problem.intercept, psd)
    new._set_hyperparameters(**hyperparameters)
    new.__dict__["_is_complete"] = True
    if (new.kernel is problem.kernel or new.kernel == problem.kernel) and new.psd == problem.psd:
        new.__dict__["space"] = problem.space
    return new


def convert_problem(
    problem: MachineStatement, class_name: str, weight: FloatArray | None = None, is_rescaled: bool = False,
    **hyperparameters: Any,
) -> Any:  # fmt: skip
    """Build a machine of another class over the same samples, with the same kernel, intercept and constraints.

    class_name: The name of the class in `qpsvm.machines`, whose import at the top would be circular.
    weight (n,): New sample weights; None for the same.
    is_rescaled: Whether the new f is a multiple of the f of `problem`.

    Raises UnsupportedError if f is rescaled and `problem` has constraints on f, whose meaning would change.
    """
    if is_rescaled and problem.constraints:
        raise UnsupportedError(
            f"f of the {class_name} is a multiple of f of this {type(problem).__name__}, which has linear constraints: "
            "state these for the other machine"
        )
    samples = problem.samples
    if weight is not None:
        samples = TrainingSamples(samples.X, samples.target, freeze(weight), samples.classes, samples.feature_names)
    new = object.__new__(getattr(import_module("qpsvm.machines"), class_name))
    new.constraints = problem.constraints
    new._set_data(samples, problem.kernel, problem.intercept, problem.psd)
    new._set_hyperparameters(**hyperparameters)
    new.__dict__["_is_complete"] = True
    if weight is None and new._is_affine == problem._is_affine:
        new.__dict__["space"] = problem.space
    return new


def compute_nu(problem: MachineStatement, result: SVMResult, penalties: FloatArray) -> float:
    """Compute ν = Σα_i / Σ C_i s_i of a result, given the penalties C_i times the sample weights s_i, (n,).

    Raises ParameterError, ParameterTypeError, DataError.
    """
    check_result(problem.samples, result)
    nu = float(result.alpha.sum() / penalties.sum())
    if not nu > 0.0:
        raise ParameterError("every α is 0, so no ν > 0 belongs to this result")
    return nu


def restrict_to_rows(problem: S, rows: IntArray) -> S:
    """Restrict a machine to some of its active samples; its Gram matrix is a block of the one already computed.

    Hyperparameters are not checked again for these samples, unlike in `Problem.replace`.

    Shapes: rows (k,), indices into the active samples. Raises UnsupportedError.
    """
    space = problem.space
    problem.samples.check_unchanged()
    if problem._dual_structure.mix is not None and problem._dual_structure.classes is None:
        raise UnsupportedError(f"{type(problem).__name__} has pairs of samples, and a subset would separate some pairs")
    _check_per_sample_values(problem)
    sample_rows = rows if problem._all_weights_positive else problem.active_rows[rows]
    subset = _restrict_samples(problem, sample_rows)
    hyperparameters = {
        name: restrict_parameter(getattr(problem, name), problem.samples.n, sample_rows)
        for name in problem._hyperparameters
    }
    new = replace_samples(problem, subset, hyperparameters)
    if isinstance(space, FeatureSpace):
        restricted_space = space.restrict(rows, subset.X)
        if restricted_space is not None:
            new.__dict__["space"] = restricted_space
    return new


def _restrict_samples(problem: MachineStatement, rows: IntArray) -> TrainingSamples:
    """Return some of the samples of a machine: rows (k,) are indices into all samples."""
    samples = problem.samples
    weight = restrict_parameter(samples.weight, samples.n, rows)
    X: Matrix
    if isinstance(samples.X, RowSource):
        X = select_rows(samples.X, rows)
    elif isinstance(problem.kernel, Precomputed):
        X = freeze(np.ascontiguousarray(samples.X[rows][:, rows]))
    else:
        X = freeze(samples.X[rows])
    return TrainingSamples(X, samples.target[rows], weight, samples.classes, samples.feature_names)


def replace_samples(problem: S, samples: TrainingSamples, hyperparameters: Mapping[str, Any]) -> S:
    """Build the machine over other samples, with hyperparameters that are not checked again."""
    new = copy_without_cache(problem)
    new._set_data(samples, problem.kernel, problem.intercept, problem.psd)
    new.__dict__.update(hyperparameters)
    return new


def restrict_parameter(value: Any, n: int, rows: IntArray) -> Any:
    """Restrict a parameter to some of n samples, if it has one entry per sample."""
    if not _is_per_sample(value, n):
        return value
    common = find_common_value(value)
    return value[rows] if common is None else repeat_value(common, len(rows))


def _check_per_sample_values(problem: MachineStatement) -> None:
    """Check that X and hyperparameters are the only arrays with an entry per sample. Raises UnsupportedError."""
    unlisted = [
        name
        for name, value in vars(copy_without_cache(problem)).items()
        if _is_per_sample(value, problem.n) and name not in ("X", *problem._hyperparameters)
    ]
    if unlisted:
        raise UnsupportedError(
            f"{type(problem).__name__} stores {unlisted[0]} per sample, which is not in `_hyperparameters`: add it "
            "there, so that the machine can be restricted to some samples"
        )


def _collapse_constant(value: Any) -> Any:
    """Return an array of equal entries as one number, and any other value as it is."""
    common = find_common_value(value) if isinstance(value, np.ndarray) else None
    return value if common is None else common


def _is_per_sample(value: Any, n: int) -> bool:
    """Return whether a value is an array with an entry for each of n samples."""
    return isinstance(value, np.ndarray) and value.shape[:1] == (n,)
