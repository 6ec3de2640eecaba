"""Solves whose rows are spread over the workers of a Dask cluster."""
