"""Machines that learn several classes in one program."""
