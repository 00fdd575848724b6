"""Drawings of reasons and of whole answers: their layout, and their look as SVG."""
