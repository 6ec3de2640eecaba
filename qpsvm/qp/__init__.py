"""Quadratic programs: matrices with structure, the program itself, its optimality conditions, its mechanical dual."""

from qpsvm.operators import Dense, Diagonal, LowRank, Operator
from qpsvm.qp.program import QP, Rows

__all__ = ["QP", "Dense", "Diagonal", "LowRank", "Operator", "Rows"]
