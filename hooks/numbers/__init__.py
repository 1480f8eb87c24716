"""Numbers: what quantities.toml defines, and from samples to a value with its interval. Writes no HTML."""
