"""Manage the resources of a solve: clock, memory, threads, Ctrl-C, messages."""
