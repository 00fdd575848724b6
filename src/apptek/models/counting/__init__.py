"""Scores by counting facts: the counting baselines, and what a fitted model is compared with."""
