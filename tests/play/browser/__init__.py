"""Tests of the page in a real browser: a package, so that they share one, which is closed before other tests run."""
