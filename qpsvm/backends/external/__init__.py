"""Backends of solvers of others, and the boundary that their answers cross."""
