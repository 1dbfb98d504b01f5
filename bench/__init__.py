"""Benchmarks: `python -m bench` prints one table and writes one JSON file."""
