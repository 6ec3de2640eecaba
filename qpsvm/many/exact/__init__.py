"""Exact optima of machines whose data move: whole paths, machines without a sample, data that are corrected."""
