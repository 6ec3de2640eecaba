"""Results of a solve: certified results, decision functions, and their files."""
