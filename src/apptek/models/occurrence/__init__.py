"""Whether anything happens between two entities: counts, snapshots, and a logistic regression."""
