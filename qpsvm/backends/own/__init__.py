"""Backends of our own solvers."""
