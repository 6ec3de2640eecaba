"""Rows that have to be decoded: CSV, LIBSVM, Parquet and Feather, a batch at a time, once or in every pass."""
