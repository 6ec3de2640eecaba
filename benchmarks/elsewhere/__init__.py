"""Files for other people's benchmarks: each is copied to where they look for it, and is not imported here."""
