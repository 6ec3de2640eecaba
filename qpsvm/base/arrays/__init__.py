"""Arrays: their types, constant vectors, checks of what comes from outside, and arithmetic that counts its rounding."""
