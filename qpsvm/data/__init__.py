"""Samples: checked arrays in memory, rows a block at a time, files and collections, columns and their encoding."""
