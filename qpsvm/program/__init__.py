"""Quadratic programs: matrices with structure, the program itself, its optimality conditions, its mechanical dual."""

from qpsvm.program.qp import QP, Rows
from qpsvm.space.operators import Dense, Diagonal, LowRank, Operator

__all__ = ["QP", "Dense", "Diagonal", "LowRank", "Operator", "Rows"]
