"""Kernel values with radii that follow from IEEE 754 alone, and in rational numbers."""
