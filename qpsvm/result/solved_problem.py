"""Define what a result asks of the problem that it solves (`SolvedProblem`)."""

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
    """A problem, which a result knows by these attributes only: `Problem` and `AllInOneProblem` have them."""

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
        """The names of the machine's own parameters."""

    @property
    def _target_kind(self) -> str:
        """What is learnt of a sample: "labels", "numbers", "ranks" or "none"."""

    @property
    def _f_scale(self) -> float:
        """f in units of that of the dual."""

    @property
    def active_rows(self) -> IntArray:
        """The samples that take part."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels in sort order."""

    def prove(self, result: Any, *, tol: float | None = None) -> Proof:
        """Prove a theorem about the numbers of a result."""

    def _enclose_optima(self, result: Any) -> NearOptimum:
        """Return a set that contains every exact optimum."""


#: What a result stores of its problem: the problem, a function that builds it when it is needed, or nothing.
ProblemReference: TypeAlias = SolvedProblem | Callable[[], SolvedProblem] | None
