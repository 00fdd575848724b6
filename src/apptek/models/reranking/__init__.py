"""The re-ranker: boosted trees over candidates that are described in several ways."""
