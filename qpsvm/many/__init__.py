"""Many problems at once: paths, cross-validation, comparisons of backends, pairs of classes."""
