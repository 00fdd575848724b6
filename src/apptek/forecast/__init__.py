"""Forecasts: what happens between two entities in a window, and the chance of nothing at all."""
