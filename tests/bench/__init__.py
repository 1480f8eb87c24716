"""Benchmarks of the project itself, run by hand: `python -m tests.bench.NAME`. No test lives here."""
