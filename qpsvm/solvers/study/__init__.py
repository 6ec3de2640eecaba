"""Textbook methods, there to be measured."""
