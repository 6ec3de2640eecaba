"""What a proof has to know of φ: ⟨w, φ(x_i)⟩ with a radius, and how far w is from w(α).

A radius is rigorous: true for IEEE 754 arithmetic, round to nearest, and sums in any order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from qpsvm.arrays.types import FloatArray, IntArray
from qpsvm.proof.definite import Definiteness
from qpsvm.proof.exact_dual import Held

#: A rational between two.
Between = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class Values:
    """⟨w, φ(x_i)⟩ at some points: |⟨w, φ(x_i)⟩ − high_i − low_i| ≤ radius_i, (k,) each."""

    high: FloatArray
    low: FloatArray
    radius: FloatArray


@dataclass(frozen=True, eq=False)
class Measured:
    """What one look at all points gives.

    values: At all n points.
    apart: At least ‖w − Σ_j β_j φ(x_j)‖.
    half_square: ½‖w‖² from below and from above.
    own_half: ½‖w(α)‖² likewise; None where the two others have to do.
    half_apart_low: ½‖w − w(α)‖² from below: less than 0 only where it is no norm, as the kernel may not be
        positive semidefinite.
    """

    values: Values
    apart: float
    half_square: tuple[float, float]
    own_half: tuple[float, float] | None = None
    half_apart_low: float = 0.0


@dataclass(frozen=True, eq=False)
class ExactValues:
    """The same in rational numbers, each between two: equal ones where the kernel is rational.

    values: ⟨w, φ(x_i)⟩ at all n points.
    square, own_square: ‖w‖², and ‖w(α)‖² = ‖Σ_j β_j φ(x_j)‖².
    """

    values: Sequence[Between]
    square: Between
    own_square: Between


class Space(ABC):
    """The points of a program in feature space.

    n: Points.
    assumptions: What is taken for granted of the kernel, in words: "the kernel matrix is positive
        semidefinite"; mostly empty.
    """

    n: int
    assumptions: tuple[str, ...] = ()

    @abstractmethod
    def measured(self, held: Held, beta: FloatArray, beta_radius: FloatArray) -> Measured:
        """One look at all points, in floats.

        Shapes: beta, beta_radius (n,).
        """

    @abstractmethod
    def sharpened(self, held: Held, points: IntArray) -> Values | None:
        """⟨w, φ(x_i)⟩ at some points in twice the precision; None where that is not to be had, or takes too long."""

    def sharpened_apart(self, held: Held, beta: FloatArray, beta_radius: FloatArray) -> float | None:
        """`Measured.apart` in twice the precision; None where that is not to be had, or takes too long."""
        del held, beta, beta_radius
        return None

    def exact(self, held: Held, beta: Sequence[Fraction], most: float) -> ExactValues | None:
        """In rational numbers; None where they are not to be had, or take more than about `most` multiplications."""
        del held, beta, most
        return None

    def definiteness(self, plane: bool) -> Definiteness:
        """What is proven of the kernel matrix over these points: of vectors, that it is positive semidefinite."""
        del plane
        return Definiteness(0.0, built=True)
