"""The one call that walks from a problem to a certified result: choice and attempts."""
