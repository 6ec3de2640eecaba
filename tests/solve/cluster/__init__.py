"""A package, so that its cluster ends with the last of its tests and not with the session."""
