"""Benchmarks of speed and memory, as ratios within one run because machines differ."""
