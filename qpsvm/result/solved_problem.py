"""Define the interface of problems that results use (`SolvedProblem`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from numpy.typing import NDArray

from qpsvm.base.arrays.types import IntArray, Matrix
from qpsvm.data.samples import TrainingSamples
from qpsvm.space.kernels.functions import Kernel

if TYPE_CHECKING:
    from qpsvm.bounds.near_optimum import NearOptimum
    from qpsvm.bounds.proof.proof import Proof


class SolvedProblem(Protocol):
    """What results use of the problem that they solve; `Problem` implements it."""

    @property
    def samples(self) -> TrainingSamples:
        """Samples, target and weights."""

    @property
    def X(self) -> Matrix:
        """The samples, (n, d)."""

    @property
    def kernel(self) -> Kernel:
        """The kernel."""

    @property
    def title(self) -> str:
        """Name and parameters of the machine, as text: "C-SVM, C = 10, …"."""

    @property
    def _hyperparameters(self) -> tuple[str, ...]:
        """Names of the parameters that are specific to the machine, such as C."""

    @property
    def _target_kind(self) -> str:
        """Kind of the target: "labels", "numbers", "ranks" or "none"."""

    @property
    def _f_scale(self) -> float:
        """Factor from f of (DUAL.4) to f of the machine: 2 for SVDD, else 1."""

    @property
    def active_rows(self) -> IntArray:
        """Indices of the samples of positive weight."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order."""

    def prove(self, result: Any, *, tol: float | None = None) -> Proof:
        """Prove bounds on the objective values of a result."""

    def _enclose_optima(self, result: Any) -> NearOptimum:
        """Return a set that contains every exact optimum."""


#: How a result refers to its problem: directly, by a function that builds it on demand, or not at all (None).
ProblemReference: TypeAlias = SolvedProblem | Callable[[], SolvedProblem] | None
