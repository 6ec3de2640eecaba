"""Shared tools without knowledge of support vector machines: errors, arrays, resources, atomic files, HTML tables."""
