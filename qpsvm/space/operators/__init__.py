"""Symmetric matrices that remember their structure: the P of a QP. (The Gram matrix of a kernel is in `kernels.gram`.)

An `Operator` multiplies, gives rows, its diagonal, a dense copy, and, where it has one, its factor: P = ZZᵀ + diag(d).
No operator makes an n × n matrix that nobody asked for.
"""

from qpsvm.space.operators.base import Dense, Diagonal, Operator, largest_asymmetry, rowwise, two_sided
from qpsvm.space.operators.structured import (
    LowRank,
    Mixed,
    Repeated,
    Shifted,
    coupled,
    coupled_rows,
    directions,
    gathered,
    mixed,
    shifted,
)  # fmt: skip

__all__ = [
    "Dense", "Diagonal", "LowRank", "Mixed", "Operator", "Repeated", "Shifted", "coupled", "coupled_rows", "directions",
    "gathered", "largest_asymmetry", "mixed", "rowwise", "shifted", "two_sided",
]  # fmt: skip
