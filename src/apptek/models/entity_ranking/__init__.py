"""Rank the missing entity of (subject, predicate, ?, time) or (?, predicate, object, time)."""
