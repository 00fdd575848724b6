"""A model over HTTP, and a page to explore it."""
