"""Explanations of answers: evidence, reasons and their facts, as text, HTML and drawings."""
