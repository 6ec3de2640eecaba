"""A package, so that one browser is there for all of these tests and gone before the next one begins."""
