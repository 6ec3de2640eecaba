"""Define the base of all machines: data, hyperparameters, linear constraints, feature space (`MachineStatement`).

It also maps values between all samples and the active ones, and bounds the rounding of certified points.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from qpsvm.base.arrays.frozen import IMMUTABLE_TYPES, FastABCMeta, as_read_only, cached, copy_without_cache, freeze_all
from qpsvm.base.arrays.types import FloatArray, IntArray, Matrix
from qpsvm.base.errors import AbsentError, DataError, FrozenProblemError, UnsupportedError
from qpsvm.base.resources.clock import Clock
from qpsvm.bounds.certificate import Certificate
from qpsvm.data.rows import RowSource, as_row_source
from qpsvm.data.rows.features import map_rows
from qpsvm.data.samples import TrainingSamples
from qpsvm.machines.problem.certifier import Certifier, compute_measured_gap, polish_certificate
from qpsvm.machines.problem.hyperparameters import check_hyperparameter, format_hyperparameter
from qpsvm.machines.problem.linear_constraints import (
    ConstraintRows,
    UserConstraints,
    as_constraints,
    build_scaled_rows,
    build_textbook_rows,
)
from qpsvm.machines.problem.parameter_checks import check_choice, check_intercept
from qpsvm.program.svm_dual import SVMDual
from qpsvm.space.intercept import Intercept
from qpsvm.space.kernels.feature_map import FeatureMap
from qpsvm.space.kernels.functions import Kernel, Linear, Precomputed
from qpsvm.space.kernels.kernel_registry import as_kernel
from qpsvm.space.kernels.psd_rule import PSDRule
from qpsvm.space.kernels.space import FeatureSpace

Scalar = TypeVar("Scalar", bound=np.generic)
#: Treatments of an indefinite Gram matrix.
PSD_RULES = get_args(PSDRule)


class MachineStatement(metaclass=FastABCMeta):
    """What a machine is given, and its samples in feature space. Arrays are read-only: derived values are cached."""

    samples: TrainingSamples
    X: Matrix
    kernel: Kernel
    intercept: Intercept
    psd: PSDRule
    #: The linear constraints on w, b and f.
    constraints: tuple[UserConstraints, ...]
    #: Name of the machine in titles; "" for the name of the class.
    _display_name: str = ""
    #: Names of the hyperparameters, which `_set_hyperparameters` checks and stores.
    _hyperparameters: ClassVar[tuple[str, ...]] = ()
    #: Kind of target of a sample: one of two labels, a number, a rank in an order, or none.
    _target_kind: ClassVar[Literal["labels", "numbers", "ranks", "none"]] = "labels"
    #: Number of α per sample, 1 or 2; with two, the first of all samples precede the second of all.
    _variables_per_sample: ClassVar[int] = 1
    #: The factors in f(x) = _f_scale·f_dual(x) + _diagonal_weight·K(x, x), where f_dual is (DUAL.4).
    _f_scale: ClassVar[float] = 1.0
    _diagonal_weight: ClassVar[float] = 0.0
    #: Whether 1ᵀβ = 1, so that translating the samples translates w.
    _is_affine: ClassVar[bool] = False
    #: Whether a feature map is evaluated as explicit features, not as the kernel of their inner products.
    _uses_explicit_features: ClassVar[bool] = True
    #: Whether the constructor has returned: from then on, no attribute can be assigned.
    _is_complete: bool = False

    def __init__(
        self,
        samples: TrainingSamples,
        kernel: Any,
        intercept: Intercept,
        psd: PSDRule,
        constraints: Any = None,
        **hyperparameters: Any,
    ) -> None:
        self.constraints = () if constraints is None else as_constraints(constraints)
        self._set_data(samples, kernel, intercept, psd)
        if hyperparameters:
            self._set_hyperparameters(**hyperparameters)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_complete:
            if name in (*self._hyperparameters, "kernel", "psd"):
                remedy = f"replace({name}=...)"
            else:
                remedy = "replace(...)"
            raise FrozenProblemError(f"a problem does not change: problem.{remedy} returns a new one")
        object.__setattr__(self, name, value if type(value) in IMMUTABLE_TYPES else as_read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        freeze_all(self.__dict__)

    def _set_data(self, samples: TrainingSamples, kernel: Any, intercept: Intercept, psd: PSDRule) -> None:
        """Check and store the samples, the kernel, the intercept and the treatment of an indefinite Gram matrix."""
        kernel = kernel if isinstance(kernel, Kernel) else as_kernel(kernel)
        if isinstance(samples.X, RowSource) and not isinstance(kernel, (Linear, FeatureMap)):
            samples = samples.to_memory()
        n, d = samples.X.shape
        if isinstance(kernel, Precomputed) and n != d:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {samples.X.shape}")
        self.__dict__.update(  # bypasses `__setattr__`: these values are read-only already
            samples=samples, X=samples.X, intercept=check_intercept(intercept), psd=check_choice(psd, "psd", PSD_RULES),
            kernel=kernel.resolve(samples.active_features if isinstance(kernel, FeatureMap) else samples.X),
        )  # fmt: skip
        if self.constraints:
            _ = self._textbook_constraint_rows  # raises an error if they do not fit the data

    def _set_hyperparameters(self, **values: Any) -> None:
        """Check and store the hyperparameters, those of `_hyperparameters`."""
        for name, value in values.items():
            setattr(self, name, check_hyperparameter(name, value, self.samples))

    @cached
    def title(self) -> str:
        """Name of the machine with its parameters, for display."""
        hyperparameters = "".join(format_hyperparameter(name, getattr(self, name)) for name in self._hyperparameters)
        intercept = ""
        has_choice_of_intercept = self._target_kind in ("labels", "numbers")
        if has_choice_of_intercept and self.intercept != "free":
            intercept = f", intercept {self.intercept or 'absent'}"
        return f"{self._display_name or type(self).__name__}{hyperparameters}{intercept}, kernel {self.kernel}"

    @property
    def n(self) -> int:
        """Number of samples, including those of weight 0."""
        return self.samples.n

    @property
    def sample_weight(self) -> FloatArray:
        """The weights s: (n,)."""
        return self.samples.weight

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of a data frame; None without names."""
        return self.samples.feature_names

    @property
    def active_rows(self) -> IntArray:
        """Indices of the active samples, those of positive weight."""
        return self.samples.active_rows

    @property
    def _all_weights_positive(self) -> bool:
        """Whether every sample has a positive weight."""
        return self.samples.all_weights_positive

    def _select_active(self, vector: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of a vector (n,) for the active samples; the vector itself if all are active."""
        return self.samples.select_active(vector)

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sorted order, (k,), two or more. Raises AbsentError for a machine without classes."""
        if self.samples.classes is None:
            raise AbsentError(f"{type(self).__name__} has no classes: its target is a number")
        return self.samples.classes

    @property
    def _active_target(self) -> FloatArray:
        """The target of the active samples: −1 or +1 for two classes, indices into `classes` for several."""
        return self._select_active(self.samples.target)

    @property
    def _predicted_labels(self) -> NDArray[Any] | None:
        """The two predicted labels, for f ≤ 0 and f > 0; None if f itself is the prediction."""
        return self.samples.classes

    @property
    def _n_dual_variables(self) -> int:
        """Number of dual variables α, including those of samples of weight 0."""
        return self._variables_per_sample * self.n

    @cached
    def _active_variables(self) -> NDArray[np.bool_]:
        """Mask of the dual variables that are in the dual, those of samples of positive weight: one entry per α."""
        return np.tile(self.sample_weight > 0.0, self._variables_per_sample)

    def _restrict_to_dual(self, alpha: NDArray[Scalar]) -> NDArray[Scalar]:
        """Restrict an array over the caller's α, one entry per dual variable, to the rows of the dual: (m, …)."""
        if self._all_weights_positive:
            return alpha
        return alpha[self._active_variables]

    def _expand_from_dual(self, values: NDArray[Any]) -> NDArray[Any]:
        """Expand an array over the rows of the dual, (m, …), to all of the caller's α: 0 for samples of weight 0."""
        if self._all_weights_positive:
            return values
        expanded = np.zeros((self._n_dual_variables, *values.shape[1:]), dtype=values.dtype)
        expanded[self._active_variables] = values
        return expanded

    @cached
    def space(self) -> FeatureSpace:
        """The active samples in feature space, and the points of linear constraints after them."""
        X: Matrix = self.samples.active_features
        if not self._all_weights_positive and isinstance(self.kernel, Precomputed):
            X = X[:, self.active_rows]
        if self._constraint_rows is not None:  # without a free intercept, since the samples must not be centred
            intercept: Intercept = "penalised" if self.intercept == "penalised" else None
            space = FeatureSpace(self.kernel, self._constraint_rows.append_points_to(X), intercept, self.psd)
            if intercept and space.computed_intercept is None:
                raise UnsupportedError("constraints and a penalised intercept take a positive semidefinite kernel")
            return space
        if self._uses_explicit_features and isinstance(self.kernel, FeatureMap):
            X = map_rows(as_row_source(X), self.kernel)  # (MAP.1)
        return FeatureSpace(self.kernel, X, self.intercept, self.psd, self._is_affine)

    @cached
    def _constraint_rows(self) -> ConstraintRows | None:
        """The linear constraints in the form used for computations; None without constraints."""
        if not self.constraints:
            return None
        return build_scaled_rows(self._textbook_constraint_rows, self.samples.active_features, self.kernel)

    @property
    def _textbook_constraint_rows(self) -> ConstraintRows:
        """The linear constraints as the user wrote them."""
        if not self.constraints:
            raise AbsentError(f"{type(self).__name__} has no linear constraints")
        return build_textbook_rows(self.constraints, self.kernel, self.X.shape[1], self._f_scale, self._diagonal_weight)

    @property
    def _constraint_scale(self) -> FloatArray:
        """Factors by which the linear constraints are divided for computation, (USER.4): (p,)."""
        if self._constraint_rows is None:
            raise AbsentError(f"{type(self).__name__} has no linear constraints")
        return self._constraint_rows.scale

    @cached
    def _without_cancellation(self) -> Self | None:
        """This problem with kernel values computed without cancellation; None if the kernel has no such values."""
        space = self.space.without_cancellation()
        if space is None:
            return None
        problem = copy_without_cache(self)
        problem.__dict__["space"] = space
        return problem

    def _take_kernel_diagonal(self, rows: IntArray | slice) -> FloatArray | None:
        """Return K(x, x) of some samples, (r,); None if the model does not need to store it."""
        if not self._diagonal_weight or not isinstance(self.kernel, Precomputed):
            return None
        return np.asarray(self.X.diagonal()[rows])

    @property
    @abstractmethod
    def svm(self) -> SVMDual:
        """The dual of this machine, over the active samples."""

    @property
    @abstractmethod
    def _dual_structure(self) -> SVMDual:
        """The dual with a placeholder for the Gram matrix, which may not be used."""

    @property
    @abstractmethod
    def _certifier(self) -> Certifier:
        """Certifier of the points of this problem."""

    def _polish(
        self, certificate: Certificate, tol: float, clock: Clock | None = None, certify_seconds: float = 0.0
    ) -> Certificate:
        """Improve a certified point by solving the equations of its free α, with the other α at their bounds."""
        return polish_certificate(self._certifier, certificate, tol, clock, certify_seconds)

    def _bound_rounding(
        self, certificate: Certificate, tol: float, in_time: bool = True, polished: bool = True
    ) -> Certificate:
        """Return the certificate with a gap that includes all rounding.

        If the gap exceeds `tol` because of rounding alone, α is also certified with kernel values without cancellation.

        in_time: Whether there is time for more than the cheapest bound.
        polished: Whether the point with these kernel values is polished again.
        """
        bounded = self._certifier.with_rounding_bound(certificate, tol, in_time)
        is_rounding_too_large = tol < bounded.gap and compute_measured_gap(certificate) <= tol
        if in_time and is_rounding_too_large:
            refined_problem = self._without_cancellation
        else:
            refined_problem = None
        if refined_problem is None:
            return bounded
        refined = refined_problem._certifier.certify(certificate.alpha)
        if polished:
            refined = refined_problem._polish(refined, tol)
        refined = refined_problem._certifier.with_rounding_bound(refined, tol)
        return refined if refined.gap < bounded.gap else bounded

    def _describe_caveats(self, certificate: Certificate) -> str:
        """Describe the caveats of a result, or return ""."""
        if isinstance(self.kernel, FeatureMap):
            return str(self.kernel.note)
        if certificate.sparse_coef is not None and not self.constraints:
            return (
                f"f rests on {np.count_nonzero(certificate.coef)} of the samples: a combination of these, whose "
                "coefficients result.model has, replaces Σ α_i y_i φ(x_i); the gap includes the difference"
            )
        if self.space.shift:
            return (
                f"the certificate is for the kernel matrix plus {self.space.shift!r} times the identity "
                "(psd='shift'), which has no counterpart for new samples: there f(x) = Σ α_i y_i K(x_i, x) + b"
            )
        if self.space.is_clipped:
            return (
                "the kernel matrix is indefinite: the certificate is for its positive part (psd='clip'), in which f of "
                "new samples is taken too"
            )
        return ""
