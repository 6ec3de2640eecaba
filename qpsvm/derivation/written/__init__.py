"""Writers of derivations: articles, pages, text of a terminal, JavaScript."""
