"""Models on disk, and files written whole or not at all."""
