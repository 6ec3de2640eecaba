"""Faces of the library: the command line, the live page, pictures."""
