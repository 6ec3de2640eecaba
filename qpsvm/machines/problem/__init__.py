"""Shared parts of all machines: samples, hyperparameters, linear constraints, the two QPs."""
