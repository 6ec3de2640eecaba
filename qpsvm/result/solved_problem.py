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
    """The attributes of a problem that results use; `Problem` and `AllInOneProblem` have them."""

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
        """The machine with its parameters."""

    @property
    def _hyperparameters(self) -> tuple[str, ...]:
        """Names of the parameters specific to the machine."""

    @property
    def _target_kind(self) -> str:
        """Kind of the target: "labels", "numbers", "ranks" or "none"."""

    @property
    def _f_scale(self) -> float:
        """Factor from f of the dual to f."""

    @property
    def active_rows(self) -> IntArray:
        """Indices of the samples of positive weight."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order."""

    def prove(self, result: Any, *, tol: float | None = None) -> Proof:
        """Prove bounds for a result."""

    def _enclose_optima(self, result: Any) -> NearOptimum:
        """Return a set that contains every exact optimum."""


#: The reference of a result to its problem: the problem, a function that builds it on demand, or None.
ProblemReference: TypeAlias = SolvedProblem | Callable[[], SolvedProblem] | None
