"""Arrays: their types, constant vectors, checks of what comes from outside, arithmetic with its rounding."""
