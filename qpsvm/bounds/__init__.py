"""Certify points: repair α, bound the gap with all rounding, polish."""
