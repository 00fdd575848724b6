"""Baselines that answer the same queries as our models: counting and trained embeddings."""
