"""Files for other people's benchmarks, which import them; nothing here does."""
