"""What knows nothing of support vector machines: errors, arrays, resources, files written whole, tables in HTML."""
