"""One problem on many backends: how far each came, and what that took."""
