"""Texts of times, and the arithmetic of the calendar."""
