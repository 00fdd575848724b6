"""Facts as read-only arrays, with their names, times, queries, splits and protocols."""
