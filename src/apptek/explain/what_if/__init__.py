"""What would change an answer: facts taken away or added, another day."""
