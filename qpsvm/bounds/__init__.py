"""The dual, and what any α of it is worth."""
