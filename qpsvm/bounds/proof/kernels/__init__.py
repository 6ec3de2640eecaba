"""Compute kernel values with radii that follow from IEEE 754, and in rational numbers."""
