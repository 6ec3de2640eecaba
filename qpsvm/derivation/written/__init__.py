"""What derivations are written as: articles, pages, text of a terminal, JavaScript."""
