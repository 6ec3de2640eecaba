"""Shared parts of all built-in solvers."""
