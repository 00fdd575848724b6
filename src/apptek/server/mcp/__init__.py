"""A model's questions as tools for assistants, over the Model Context Protocol."""
