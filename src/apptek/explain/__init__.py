"""Why an answer: evidence, reasons and their facts, as text, HTML and drawings."""
