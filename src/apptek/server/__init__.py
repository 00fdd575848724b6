"""A model over HTTP, and the page to explore it."""
