"""One problem on many backends: what each proved, and what that took."""
