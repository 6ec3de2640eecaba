"""Backends of the built-in solvers."""
