"""Bound the optimum of any convex QP from both sides, rounding included."""
