"""Machines without a solution: whether there is one, and the evidence where there is none."""
