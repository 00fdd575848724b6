"""Forecasts: what happens between two entities in a window, and whether anything happens."""
