"""Data sets: facts as read-only arrays, names, times, queries, and how files become them."""
