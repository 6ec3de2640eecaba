"""Solve a problem and certify the result: choice of backends, runs, and the public `solve`."""
