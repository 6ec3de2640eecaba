"""Proofs that a problem has no solution: classes that nothing separates, constraints that nothing satisfies."""
