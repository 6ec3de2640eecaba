"""Symmetric matrices that remember their structure: the P of a QP. (The Gram matrix of a kernel is in `kernels.gram`.)

An `Operator` multiplies, gives rows, its diagonal, a dense copy, and, where it has one, its factor: P = ZZᵀ + diag(d).
No operator makes an n × n matrix unless it is asked for.
"""

from qpsvm.space.operators.base import Dense, Diagonal, Operator, find_largest_asymmetry, scale_both_sides, scale_rows
from qpsvm.space.operators.structured import (
    CombinedRows,
    LowRank,
    RepeatedOperator,
    ShiftedOperator,
    add_diagonal,
    build_directions,
    combine_rows,
    couple_class_rows,
    couple_classes,
    take_rows,
)

__all__ = [
    "CombinedRows",
    "Dense",
    "Diagonal",
    "LowRank",
    "Operator",
    "RepeatedOperator",
    "ShiftedOperator",
    "add_diagonal",
    "build_directions",
    "combine_rows",
    "couple_class_rows",
    "couple_classes",
    "find_largest_asymmetry",
    "scale_both_sides",
    "scale_rows",
    "take_rows",
]
