"""Backends of third-party solvers."""
